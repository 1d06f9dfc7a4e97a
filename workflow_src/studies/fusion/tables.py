"""The tables of the fusion study."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import (
    DASH,
    Column,
    between,
    markdown_table,
    number,
    percent,
    plain,
    whole,
)
from workflow_src.studies.fusion.analyze import (
    NAMES,
    OPERATIONS,
    against_copy,
    largest,
    power,
    shape_of,
)
from workflow_src.studies.fusion.copies import cached
from workflow_src.studies.fusion.points import IMPLEMENTATIONS
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Row


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Tables of times by operation, and of the launches and errors of all implementations."""
    rows = filled(table)
    long = {name: _times(rows, name) for name in IMPLEMENTATIONS}
    return long | {"kinds": _kinds(rows), "largest": _largest_table(table)}


def _largest_table(table: pd.DataFrame) -> Markup:
    """A line per implementation: median times at the largest shapes, and shares of the bandwidth.

    If every tensor fits in a cache: without shares. Empty if nothing was measured.
    """
    rows = against_copy(table) or [row for row in filled(table) if row["status"] == "ok"]
    groups: dict[tuple[str, str], list[Row]] = {}
    for operation in IMPLEMENTATIONS:
        for row in largest([row for row in rows if row["operation"] == operation]):
            groups.setdefault((operation, row["dtype"]), []).append(row)
    columns, lines = [Column("implementation", "name")], []
    for operation, dtype in groups:
        size = power(groups[operation, dtype][0]["elements"])
        heading = f"{OPERATIONS[operation]} of {size}, {dtype}"
        columns.append(Column(heading, f"{operation}/{dtype}"))
    for name, words in NAMES.items():
        cells = {"/".join(key): _shares(mine, name) for key, mine in groups.items()}
        if any(cells.values()):
            lines.append({"name": words} | {key: cell or DASH for key, cell in cells.items()})
    return markdown_table(lines, columns) if lines else Markup("")


def _shares(rows: Sequence[Row], name: str) -> str:
    """The times of an implementation over its shapes, and its shares of the bandwidth."""
    mine = [row for row in rows if row["implementation"] == name]
    if not mine:
        return ""
    times = between([row["median_ms"] for row in mine])
    shares = [row["of_bandwidth"] for row in mine if row.get("of_bandwidth") is not None]
    return f"{times} ms" + (f" ({between(shares, rounded)})" if shares else "")


def rounded(share: float) -> str:
    """A share as a whole percentage: 94 %."""
    return f"{100 * share:.0f} %"


def _times(rows: Sequence[Row], operation: str) -> Markup:
    """A line per shape: the median of each implementation and its share of the copy."""
    lines: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["operation"] != operation:
            continue
        fits = "yes" if row["status"] == "ok" and cached(row) else "no"
        start = dict(row) | {"reason": "", "size": power(row["elements"]), "cached": fits}
        lines.setdefault(shape_of(row), start)[row["implementation"]] = _time(row)
    columns = [Column("dtype", "dtype"), Column("elements", "size")]
    if any(cached(row) for row in rows if row["operation"] == operation and row["status"] == "ok"):
        columns.append(Column("fits in cache", "cached"))
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
    known = row["implementation"] != "copy" and share is not None and not cached(row)
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
