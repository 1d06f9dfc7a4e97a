"""The attention study's kernels: how many ran, which ones, and whether nsys counts the same."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.rows import busy_ns, calls
from workflow_src.studies.study import Row
from workflow_src.traces.kernel_names import NO_KERNEL

NO_WORK = "bookkeeping"
"""The family of a CPU's views and allocations, which neither compute nor move data."""

RECORDS = ("activities", "both_activities", "forward_activities")
"""The columns of a measured row that hold what a profile recorded."""


def working(activities: Iterable[Row]) -> list[Row]:
    """The activities that compute or move data, without a CPU's views and allocations."""
    return [activity for activity in activities if activity["family"] != NO_WORK]


def kernel_count(row: Row) -> Row:
    """`kernels` (on a CPU: operators) of one call of the row's phase, and their `busy_ms`.

    Empty if not profiled, or if a profile recorded nothing. Backward's are those of forward and
    backward together minus those of forward.
    """
    if not all(row[key] for key in RECORDS if key in row):
        return {}
    if "activities" in row:
        done = working(row["activities"])
        return {"kernels": calls(done), "busy_ms": busy_ns(done) / NS_PER_MS}
    if "both_activities" in row:
        both, forward = working(row["both_activities"]), working(row["forward_activities"])
        busy_ms = (busy_ns(both) - busy_ns(forward)) / NS_PER_MS
        return {"kernels": calls(both) - calls(forward), "busy_ms": busy_ms}
    return {}


def kernel_rows(activities: Iterable[Row]) -> list[Row]:
    """A row per kernel and operator that launched it, most time first.

    Each has its calls, busy time (ms) and share (0 to 1) of the total busy time.
    """
    done = working(activities)
    total = busy_ns(done)
    grouped: dict[tuple[str, str, str], list[Row]] = {}
    for activity in done:
        key = (activity["operator"], activity["short_name"], activity["family"])
        grouped.setdefault(key, []).append(activity)
    found = [
        {"operator": operator, "kernel": kernel, "family": family, "calls": calls(mine)}
        | {"busy_ms": busy_ns(mine) / NS_PER_MS, "share": busy_ns(mine) / total}
        for (operator, kernel, family), mine in grouped.items()
    ]
    return sorted(found, key=lambda row: float(row["busy_ms"]), reverse=True)


def product_rows(activities: Iterable[Row]) -> list[Row]:
    """A row (sweep "plain_kernel") per range and kernel of a module: calls, busy time (ms)."""
    grouped: dict[tuple[str, str, str], list[Row]] = {}
    for activity in working(activities):
        key = (activity["range"], activity["short_name"], activity["family"])
        grouped.setdefault(key, []).append(activity)
    return [
        {"sweep": "plain_kernel", "product": product, "kernel": kernel, "family": family}
        | {"calls": calls(mine), "busy_ms": busy_ns(mine) / NS_PER_MS}
        for (product, kernel, family), mine in grouped.items()
    ]


def counted(summed: Sequence[Row], kernels: Sequence[Row]) -> Row | None:
    """How many kernels nsys summarizes, and which ones torch.profiler counts differently per pass.

    None if nsys was not run; `skipped` says why it has no summary.
    """
    if not summed:
        return None
    ran = [row for row in summed if row["status"] == "ok"]
    passes = int(ran[0]["passes"]) if ran else 0
    by_nsys = _calls_by_kernel(ran)
    versions = {key[:2] for key in by_nsys}
    by_torch = _calls_by_kernel(row for row in kernels if _version(row) in versions)
    either = dict.fromkeys([*by_nsys, *by_torch])
    differing = [key[-1] for key in either if by_nsys[key] != passes * by_torch[key]]
    return {
        "passes": passes,
        "kernels": len(by_nsys),
        "differing": list(dict.fromkeys(differing)),
        "skipped": next((row["reason"] for row in summed if row["status"] != "ok"), ""),
    }


def _version(row: Row) -> tuple[Any, Any]:
    return row["implementation"], row["context"]


def _calls_by_kernel(rows: Iterable[Row]) -> Counter[tuple[Any, ...]]:
    """Calls by version of the module and kernel, without memory copies and sets."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if not row["kernel"].startswith(NO_KERNEL):
            found[*_version(row), row["kernel"]] += int(row["calls"])
    return found
