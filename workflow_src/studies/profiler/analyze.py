"""Analyzes the profiler study: a row per pair of processes."""

from workflow_src.common.summary import of_each_process
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row per pair: the medians of its two processes (ms); if one has none, why.

    profiled_first: whether the process with the profiler ran before the other.
    """
    about = {"case": point["point"], "size": next(iter(point["sizes"]))}
    about |= {name: point[name] for name in ("context", "precision")}
    lost = [row for row in rows if row["status"] != "ok"]
    if lost:
        return [about | {name: lost[0][name] for name in ("phase", "status", "reason")}]
    medians = {row["name"]: of_each_process(row["samples_ns"], row["process"]) for row in rows}
    pairs = zip(medians["plain"], medians["profiled"], strict=True)
    return [
        about
        | {"phase": rows[0]["phase"], "status": "ok", "reason": ""}
        | {"pair": pair, "profiled_first": pair % 2 == 1}
        | {"plain_ms": plain["median_ms"], "profiled_ms": profiled["median_ms"]}
        for pair, (plain, profiled) in enumerate(pairs)
    ]
