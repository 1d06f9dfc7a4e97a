"""The tables of the fusion study."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import Column, markdown_table, number, percent, plain, whole
from workflow_src.studies.fusion.analyze import NAMES, OPERATIONS, power, shape_of
from workflow_src.studies.fusion.points import IMPLEMENTATIONS
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Row


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Tables of times by operation, and of the launches and errors of all implementations."""
    rows = filled(table)
    return {name: _times(rows, name) for name in IMPLEMENTATIONS} | {"kinds": _kinds(rows)}


def _times(rows: Sequence[Row], operation: str) -> Markup:
    """A line per shape: the median of each implementation and its share of the copy."""
    lines: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["operation"] != operation:
            continue
        start = dict(row) | {"reason": "", "size": power(row["elements"])}
        lines.setdefault(shape_of(row), start)[row["implementation"]] = _time(row)
    columns = [Column("dtype", "dtype"), Column("elements", "size")]
    if operation == "softmax":
        columns += [Column("rows", "rows", whole), Column("columns", "columns", plain)]
    for name in IMPLEMENTATIONS[operation]:
        columns.append(Column(f"{NAMES[name]}, ms", name))
    order = sorted(lines.values(), key=lambda r: (r["dtype"], r["columns"], r["elements"]))
    return markdown_table(order, columns)


def _time(row: Row) -> str:
    if row["status"] != "ok":
        return "OOM" if row["status"] == "oom" else "skipped"
    share = row["share_of_copy"]
    known = row["implementation"] != "copy" and share is not None
    return number(row["median_ms"]) + (f" ({percent(share)})" if known else "")


def _kinds(rows: Sequence[Row]) -> Markup:
    """A line per operation, implementation and dtype: its launches and largest error."""
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["implementation"] == "copy" or row["status"] == "oom":
            continue
        start = dict(row) | {
            "called": OPERATIONS[row["operation"]],
            "name": NAMES[row["implementation"]],
            "reason": row["reason"] or "",
        }
        line = found.setdefault((row["operation"], row["implementation"], row["dtype"]), start)
        if row["status"] == "ok":
            line["relative_error"] = max(line["relative_error"], row["relative_error"])
    columns = [
        Column("operation", "called"),
        Column("implementation", "name"),
        Column("dtype", "dtype"),
        Column("largest relative error", "relative_error", scientific, "status"),
    ]
    if any(row.get("kernels_launched") for row in rows):
        columns.append(Column("launches", "kernels_launched", whole, "status"))
    return markdown_table(list(found.values()), columns)


def scientific(value: float) -> str:
    """A small number with two significant digits: 3.2e-08."""
    return f"{value:.1e}"
