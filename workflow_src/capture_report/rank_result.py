"""What the report says of processes that share range paths: how unequal they are."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.capture_report.shown import most
from workflow_src.paper.value import Cell, Value, ratio, rows_of

INSIDE = r"(?<!\\)/"
"""Found in paths of ranges that lie in other ranges."""

HEADS = (
    "range path",
    "processes",
    "median, ms",
    "most, ms",
    "slowest process",
    "most / median",
    "waiting, most ms",
    "waits longest",
)


@dataclass(frozen=True)
class Waiting:
    """The process that waits longest for others in collectives, and its share of device time."""

    process: str
    ms: Value
    share: Value


def longest_waiting(paths: pd.DataFrame) -> Waiting | None:
    """The process that waits longest; None where that isn't known, or no process waits."""
    outermost = paths[~paths["path"].astype(str).str.contains(INSIDE)]
    groups = [rows for _, rows in outermost.groupby("process")]
    rows = max(groups, key=lambda mine: float(mine["wait_ms"].sum()), default=outermost)
    source = (rows_of("paths", rows),)
    ms, busy = (
        Value(float(rows[column].sum()), "ms", source, f"sum of {column}")
        for column in ("wait_ms", "busy_ms")
    )
    share = ratio(ms, busy, "share", "wait_ms / busy_ms")
    return Waiting(str(rows["process"].iloc[0]), ms, share) if share and ms.number else None


def rank_times(paths: pd.DataFrame) -> pd.DataFrame:
    """A row per path of several processes: device time without waiting in collectives, if known."""
    busy = paths.groupby("path", sort=False)["busy_ms"].agg(["sum", "size"])
    shared = most(busy[busy["size"] > 1], "sum").index
    of_shared = paths[paths["path"].isin(shared)].groupby("path", sort=False)
    lines = [_line(str(path), rows) for path, rows in of_shared]
    return pd.DataFrame(lines, columns=list(HEADS), dtype="object")


def _line(path: str, rows: pd.DataFrame) -> list[Cell]:
    waiting, source = rows["wait_ms"], (rows_of("paths", rows),)
    work = rows["busy_ms"] - waiting.fillna(0)
    formula = "busy_ms - wait_ms"
    middle = Value(float(work.median()), "ms", source, f"median of {formula}")
    most = Value(float(work.max()), "ms", source, f"max of {formula}")
    known = bool(waiting.fillna(0).any())
    longest = str(rows["process"].iloc[int(waiting.fillna(0).argmax())]) if known else None
    slowest = str(rows["process"].iloc[int(work.argmax())]) if most.number else None
    return [
        path,
        Value(len(rows), "count", source, "count"),
        middle,
        most,
        slowest,
        ratio(most, middle, "near_one", "max / median"),
        Value(float(waiting.max()), "ms", source, "max of wait_ms")
        if waiting.notna().any()
        else None,
        longest,
    ]
