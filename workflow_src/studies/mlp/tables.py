"""The tables of the MLP study."""

from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import Column, markdown_table, number, percent, plain
from workflow_src.studies.mlp.analyze import part, ratios
from workflow_src.studies.mlp.points import BASE
from workflow_src.studies.mlp.reading import per_flop

OPERATORS_SHOWN = 6


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Tables of the scaling, of the sweep over dim, and of the operators of each operation."""
    return {
        "axes": _axes_table(table),
        "dims": _dims_table(table),
        "scaling": _scaling_table(table),
        "sweep": _sweep_table(table),
        "operators": _operators_table(table),
    }


def _axes_table(table: pd.DataFrame) -> Markup:
    """A row per scaled size, at its largest factor."""
    rows: dict[str, dict[str, Any]] = {}
    for row in ratios(table):
        if row["axis"] != "base" and row["factor"] >= rows.get(row["axis"], row)["factor"]:
            rows[row["axis"]] = row
    columns = [
        Column("scaled", "axis"),
        Column("by", "factor", plain),
        Column("FLOPs over the base's", "expected", number),
        Column("time over the base's", "measured", number, "status"),
        Column("its p20", "low", number, "status"),
        Column("its p80", "high", number, "status"),
    ]
    return markdown_table(list(rows.values()), columns)


def _dims_table(table: pd.DataFrame) -> Markup:
    """A row per dim: step and busy time next to the FLOPs, all over those of the base's dim."""
    operators = "cpu" in set(table["device"])
    busy = "operators" if operators else "busy"
    columns = [
        Column("dim", "dim", plain),
        Column("step, ms", "median_ms", number, "status"),
        Column(f"{busy}, ms", "busy_ms", number, "status"),
        Column(f"{busy} / step", "busy_share", percent, "status"),
        Column(f"FLOPs over dim {BASE['dim']}'s", "relative_flops", number),
        Column("step over", "relative_step", number, "status"),
        Column(f"{busy} over", "relative_busy", number, "status"),
    ]
    ran = {row["dim"]: row for row in per_flop(part(table, "sweep"))}
    return markdown_table([ran.get(r["dim"], r) for r in part(table, "sweep")], columns)


def _scaling_table(table: pd.DataFrame) -> Markup:
    columns = [Column(name, name, plain) for name in BASE]
    columns += [
        Column("scaled", "axis"),
        Column("by", "factor", plain),
        Column("median, ms", "median_ms", number, "status"),
        Column("expected ratio", "expected", number),
        Column("measured ratio", "measured", number, "status"),
        Column("its p20", "low", number, "status"),
        Column("its p80", "high", number, "status"),
        Column("measured / expected", "against", number, "status"),
    ]
    return markdown_table(ratios(table), columns)


def _sweep_table(table: pd.DataFrame) -> Markup:
    columns = [
        Column("dim", "dim", plain),
        Column("step, median ms", "median_ms", number, "status"),
        Column("p20, ms", "p20_ms", number, "status"),
        Column("p80, ms", "p80_ms", number, "status"),
        Column("busy, ms", "busy_ms", number, "status"),
        Column("busy / step", "busy_share", percent, "status"),
    ]
    return markdown_table(part(table, "sweep"), columns)


def _operators_table(table: pd.DataFrame) -> Markup:
    """The operators with the largest shares of each operation, at most OPERATORS_SHOWN each."""
    rows = sorted(part(table, "operators"), key=lambda row: -(row.get("share") or 0))
    shown: dict[str, list[dict[str, Any]]] = {name: [] for name in operations(table)}
    for row in rows:
        if len(shown[row["operation"]]) < OPERATORS_SHOWN:
            shown[row["operation"]].append(row)
    columns = [
        Column("operation", "operation"),
        Column("unprofiled median, ms", "median_ms", number, "status"),
        Column("operator", "operator", str, "status"),
        Column("kernel", "kernel", str, "status"),
        Column("family", "family", str, "status"),
        Column("calls", "calls", plain, "status"),
        Column("device time, ms", "device_ms", number, "status"),
        Column("share", "share", percent, "status"),
    ]
    if "cpu" in set(table["device"]):
        columns = [column for column in columns if column.heading != "kernel"]
    return markdown_table([row for mine in shown.values() for row in mine], columns)


def operations(table: pd.DataFrame) -> list[str]:
    """The profiled operations, in the table's order."""
    return list(dict.fromkeys(row["operation"] for row in part(table, "operators")))
