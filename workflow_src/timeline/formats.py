"""Timelines in Chrome's trace format, which Perfetto shows.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from typing import Any

import pandas as pd

from workflow_src.common.units import NS_PER_US
from workflow_src.paper.markdown import records
from workflow_src.timeline.steps import Timeline

HOST, DEVICE, IDLE = 1, 2, 3
PROCESSES = {HOST: "host", DEVICE: "device", IDLE: "device idle, by cause"}


def chrome_trace(found: Timeline, case: str) -> dict[str, Any]:
    """The whole capture as complete events (ph "X"), in microseconds from its start.

    Activities that overlap get lanes of their own, because events of one thread must nest.
    """
    ranges, activities = found.ranges, found.activities
    zero = int(min([*ranges["start_ns"], *activities["start_ns"]], default=0))
    events = [_named("process_name", pid, 0, name) for pid, name in PROCESSES.items()]
    events += [
        _event(r["name"], "range", zero, r, HOST, r["thread"], _about(r, "path", "component"))
        for r in records(ranges)
    ]
    launched = activities[activities["launch_ns"] >= 0]
    spans = {"start_ns": launched["launch_ns"], "end_ns": launched["launch_end_ns"]}
    events += [
        _event(f"launch {r['short_name']}", "launch", zero, r, HOST, r["thread"], {})
        for r in records(launched.assign(**spans))
        if r["end_ns"] > r["start_ns"]
    ]
    shown = ("path", "component", "family", "phase", "step", "name")
    events += [
        _event(r["short_name"], r["family"], zero, r, DEVICE, lane, _about(r, *shown))
        for lane, r in zip(_lanes(activities), records(activities), strict=True)
    ]
    events += [
        _event(r["cause"], "idle", zero, r, IDLE, 0, _about(r, "phase", "step"))
        for r in records(found.idle)
    ]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"case": case}}


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _event(
    name: str, kind: str, zero: int, row: dict[str, Any], process: int, thread: int, about: Any
) -> dict[str, Any]:
    start, length = row["start_ns"] - zero, row["end_ns"] - row["start_ns"]
    times = {"ts": int(start) / NS_PER_US, "dur": int(length) / NS_PER_US}
    of = {"pid": process, "tid": int(thread)}
    return {"name": name, "cat": kind, "ph": "X", **times, **of, "args": about}


def _about(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _lanes(activities: pd.DataFrame) -> list[int]:
    """For each activity, in order of start, the first lane that is free when it starts."""
    free: list[int] = []
    lanes = []
    for start, end in activities[["start_ns", "end_ns"]].to_numpy().tolist():
        lane = next((place for place, until in enumerate(free) if until <= start), len(free))
        free[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes
