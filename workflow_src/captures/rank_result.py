"""What the report says of processes that share range paths: how unequal they are."""

import pandas as pd

from workflow_src.render.value import Cell, Value, ratio, rows_of

HEADS = (
    "range path",
    "processes",
    "median, ms",
    "most, ms",
    "slowest process",
    "most / median",
    "waiting, most ms",
)


def rank_times(paths: pd.DataFrame) -> pd.DataFrame:
    """A row per path of several processes: device time without waiting in collectives, if known."""
    lines = [
        _line(str(path), rows)
        for path, rows in paths.groupby("path", sort=False)
        if rows["process"].nunique() > 1
    ]
    return pd.DataFrame(lines, columns=list(HEADS), dtype="object")


def _line(path: str, rows: pd.DataFrame) -> list[Cell]:
    waiting, source = rows["wait_ms"], (rows_of("paths", rows),)
    work = rows["busy_ms"] - waiting.fillna(0)
    formula = "busy_ms - wait_ms"
    middle = Value(float(work.median()), "ms", source, f"median of {formula}")
    most = Value(float(work.max()), "ms", source, f"max of {formula}")
    known = bool(waiting.notna().any())
    slowest = str(rows["process"].iloc[int(work.argmax())]) if most.number else None
    return [
        path,
        Value(len(rows), "count", source, "count"),
        middle,
        most,
        slowest,
        ratio(most, middle, "times", "max / median"),
        Value(float(waiting.max()), "ms", source, "max of wait_ms") if known else None,
    ]
