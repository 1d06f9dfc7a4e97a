"""The tables of the precision study."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import Column, markdown_table, number, percent, whole
from workflow_src.studies.precision.analyze import MEASUREMENTS, compare, part
from workflow_src.studies.rows import TIME_COLUMNS

Rows = Sequence[Mapping[str, Any]]


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Tables of the sums, of speed-ups by size, of the dtypes, and of all times."""
    speed = part(table, "speed")
    return {
        "sums": markdown_table(part(table, "accumulation"), SUM_COLUMNS),
        "norms": markdown_table(part(table, "layer_norm"), NORM_COLUMNS),
        "speedups": _speedups_table(speed),
        "accumulation": _accumulation_table(part(table, "accumulation")),
        "dtypes": _dtypes_table(part(table, "dtypes")),
        "speed": _speed_table(speed),
    }


def digits(value: float) -> str:
    """A sum with enough digits to show its difference from 10: 9.953125, 10.000134."""
    return f"{value:.6f}"


def scientific(value: float) -> str:
    """An error with its sign and three significant digits: -4.90e-02; an exact zero is 0."""
    return f"{value:+.2e}" if value else "0"


SUM_COLUMNS = (
    Column("added into", "variant"),
    Column("sum", "value", digits),
    Column("error", "error", scientific),
    Column("from 0.01 as stored", "representation_error", scientific),
    Column("from rounding the sum", "rounding_error", scientific),
)


NORM_COLUMNS = (
    Column("input in", "variant"),
    Column("its standard deviation", "deviation", number),
    Column("mean and variance in", "statistics"),
    Column("largest error of the output", "largest_error", "{:.1e}".format),
    Column("what storing the output in the input's type costs", "stored_error", "{:.1e}".format),
    Column("variance", "variance"),
)


def _speedups_table(rows: Rows) -> Markup:
    """A row per size: bf16's speed-up of models over each precision, and a GPU's busy share."""
    lines: dict[str, dict[str, Any]] = {}
    for pair in compare(rows):
        if pair["measurement"] != "scores":
            line = lines.setdefault(pair["size"], {"size": pair["size"]})
            line[f"{pair['measurement']}/{pair['against']}"] = pair["speedup"]
            if pair["device"] != "cpu":
                line[f"{pair['measurement']}/busy"] = pair.get("busy_share")
    kinds = dict.fromkeys(key for line in lines.values() for key in line if "/" in key)
    order = sorted(kinds, key=lambda kind: (kind.startswith("forward_"), kind.endswith("/busy")))
    columns = [Column("size", "size")]
    for kind in order:
        measurement, against = kind.split("/")
        busy = against == "busy"
        heading = "busy in bf16" if busy else f"over {against}"
        columns.append(
            Column(f"{MEASUREMENTS[measurement]}: {heading}", kind, percent if busy else number)
        )
    return markdown_table(list(lines.values()), columns)


def _accumulation_table(rows: Rows) -> Markup:
    """The sums, and their errors in two parts."""
    columns = [
        Column("added into", "variant"),
        Column("sum", "value", digits),
        Column("error against 10", "error", scientific),
        Column("0.01 as stored", "addend", lambda value: f"{value:.10f}"),
        Column("error of the stored 0.01, 1000 times", "representation_error", scientific),
        Column("error of rounding the sum", "rounding_error", scientific),
        Column("spacing at the sum", "spacing", lambda value: f"{value:.2e}"),
    ]
    return markdown_table(rows, columns)


def _dtypes_table(rows: Rows) -> Markup:
    """The dtype of each tensor under each autocast."""
    columns = [Column("tensor", "tensor")]
    columns += [Column(f"{name} autocast", f"autocast_{name}") for name in ("fp16", "bf16")]
    return markdown_table(rows, columns)


def _speed_table(rows: Rows) -> Markup:
    """A row per size, measurement and precision."""
    columns = [
        Column("size", "size"),
        Column("measured", "measured"),
        Column("precision", "precision"),
        *TIME_COLUMNS,
        *(Column(heading, key) for heading, key, _ in OPTIONAL),
    ]
    compared = {(p["size"], p["measurement"], p["against"]): p for p in compare(rows)}
    shown = []
    for row in rows:
        pair = compared.get((row["size"], row["measurement"], row["precision"]), {})
        known = dict(row) | {"speedup": pair.get("speedup")}
        shown.append(known | {"measured": MEASUREMENTS[row["measurement"]]} | _optional(known))
    return markdown_table(shown, columns)


OPTIONAL: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("bf16's speed-up over it", "speedup", number),
    ("busy / step", "busy_share", percent),
    ("copies", "copies", whole),
    ("their share of busy", "copy_share", percent),
)
"""Columns that stay empty in rows without a value, as nothing is wrong with those."""


def _optional(row: Mapping[str, Any]) -> dict[str, str]:
    return {key: "" if row.get(key) is None else text(row[key]) for _, key, text in OPTIONAL}
