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
    """Tables of the sums, of the dtypes, and of time per size, measurement and precision."""
    return {
        "accumulation": _accumulation_table(part(table, "accumulation")),
        "dtypes": _dtypes_table(part(table, "dtypes")),
        "speed": _speed_table(part(table, "speed")),
    }


def digits(value: float) -> str:
    """A sum with enough digits to show its difference from 10: 9.953125, 10.000134."""
    return f"{value:.6f}"


def scientific(value: float) -> str:
    """An error with its sign and three significant digits: -4.90e-02; an exact zero is 0."""
    return f"{value:+.2e}" if value else "0"


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
