"""What the report says of a capture's work: by kernel, by family, and what has no path."""

from itertools import islice

import pandas as pd

from workflow_src.capture_report.shown import PAGE, by_process
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.value import Cell, Rows, Value, ratio, rows_of
from workflow_src.placing.per_step import PER_STEP
from workflow_src.placing.placing import is_unplaced


def ms_of(ns: "pd.Series[int]", source: Rows) -> Value:
    """The sum of times."""
    return Value(int(ns.sum()) / NS_PER_MS, "ms", (source,), "sum")


def count_of(number: int, rows: pd.DataFrame, table: str = "summary") -> Value:
    """A number that rows say."""
    return Value(number, "count", (rows_of(table, rows),), "count")


def kernel_times(
    kernels: pd.DataFrame, total: Value | None, several: bool, stepped: bool
) -> pd.DataFrame:
    """What ran, by name over all paths (of a process, if there are several), most time first."""
    keys = ["process", "name"] if several else ["name"]
    sums = kernels.groupby(keys)["busy_ns"].transform("sum")
    groups = kernels.assign(place=(-sums).rank(method="dense")).groupby(["place", *keys])
    lines = []
    for _, rows in islice(groups, PAGE):
        line: list[Cell] = [str(rows[name].iloc[0]) for name in ("process", "short_name", "family")]
        per_step = _per_step(rows, "kernels", int(rows["steps"].iloc[0]), stepped)
        lines.append([*line, *_sums(rows, "kernels", total), _where(rows), *per_step])
    heads = ["kernel", "family", "calls", "device, ms", "share", "most in", *_heads(stepped)]
    return by_process(lines, heads, several)


def _sums(rows: pd.DataFrame, table: str, total: Value | None) -> list[Cell]:
    """How many activities rows have, their time, and its share."""
    ms = ms_of(rows["busy_ns"], rows_of(table, rows))
    calls = count_of(int(rows["activities"].sum()), rows, table)
    return [calls, ms, ratio(ms, total, "share", "busy / total")]


def _heads(stepped: bool) -> list[str]:
    return ["calls per step", "ms per step"] if stepped else []


def _per_step(rows: pd.DataFrame, table: str, steps: int, stepped: bool) -> list[Cell]:
    """Activities and time in steps by the number of these, in columns that there may not be."""
    if not steps:
        return [None, None] if stepped else []
    source = rows_of(table, rows)
    calls, ns = (
        float((rows[name + PER_STEP] * rows["steps"]).sum()) / steps
        for name in ("activities", "busy_ns")
    )
    return [Value(calls, "", (source,)), Value(ns / NS_PER_MS, "ms", (source,))]


def _where(rows: pd.DataFrame) -> str:
    """The path in which most of the rows' time lies."""
    return str(rows["path"].iloc[int(rows["busy_ns"].argmax())])


def family_times(kernels: pd.DataFrame, total: Value | None, steps: int) -> pd.DataFrame:
    """A row per family, over all processes, which have so many steps, most time first."""
    groups = sorted(kernels.groupby("family"), key=lambda each: -each[1]["busy_ns"].sum())
    lines = [
        [str(family), *_sums(rows, "kernels", total), *_per_step(rows, "kernels", steps, steps > 0)]
        for family, rows in groups
    ]
    heads = ["family", "calls", "device, ms", "share", *_heads(steps > 0)]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def unplaced_times(kernels: pd.DataFrame, total: Value | None, steps: int) -> pd.DataFrame:
    """A row per reason for which work has no path, likewise."""
    unplaced = kernels[is_unplaced(kernels["path"])]
    lines = [
        [
            str(path).strip("()"),
            *_sums(rows, "kernels", total)[:2],
            *_per_step(rows, "kernels", steps, steps > 0),
        ]
        for path, rows in unplaced.groupby("path")
    ]
    heads = ["why", "activities", "device, ms", *_heads(steps > 0)]
    return pd.DataFrame(lines, columns=heads, dtype="object")
