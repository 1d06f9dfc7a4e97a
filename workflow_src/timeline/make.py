"""Draw a case's steps from its export, and write them for Perfetto, in Chrome's trace format.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_text, write_whole
from workflow_src.common.errors import one_sentence
from workflow_src.common.units import NS_PER_US
from workflow_src.placing.case_capture import read_case
from workflow_src.timeline.picture import draw
from workflow_src.timeline.steps import Timeline, timeline_of

HOST, DEVICE, IDLE = 1, 2, 3
PROCESSES = {HOST: "host", DEVICE: "device", IDLE: "device idle, by cause"}
OF_RANGES = ("path", "component")
OF_ACTIVITIES = (*OF_RANGES, "family", "phase", "step", "name")

AT_ONCE = 2**13

_compact = partial(json.dumps, separators=(",", ":"))


def write_trace(path: Path, found: Timeline, case: str) -> None:
    """Write a timeline compressed, a part at a time; equal ones give equal bytes."""
    rest = {"displayTimeUnit": "ns", "otherData": {"case": case}}

    def write(partial: Path) -> None:
        events, before = trace_events(found), '{"traceEvents":['
        with partial.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            while some := [*islice(events, AT_ONCE)]:
                packed.write((before + _compact(some)[1:-1]).encode())
                before = ","
            packed.write(("]," + _compact(rest)[1:]).encode())

    write_whole(path, write)


def trace_events(found: Timeline) -> Iterator[dict[Any, Any]]:
    """The whole capture as complete events (ph "X"), in microseconds from its start.

    Activities that overlap get lanes of their own: events of one thread must nest.
    """
    ranges, work, launches, idle = found.ranges, found.activities, found.launches, found.idle
    zero = min([*ranges["start_ns"].tolist(), *work["start_ns"].tolist()], default=0)
    for process, name in PROCESSES.items():
        about_it = {"pid": process, "tid": 0, "args": {"name": name}}
        yield {"name": "process_name", "ph": "M", **about_it}
    for process, rows, names, kinds, threads, about in (
        (HOST, ranges, ranges["name"], "range", ranges["thread"], OF_RANGES),
        (HOST, launches, "launch " + launches["short_name"], "launch", launches["thread"], ()),
        (DEVICE, work, work["short_name"], work["family"], _lanes(work), OF_ACTIVITIES),
        (IDLE, idle, idle["cause"], "idle", 0, ("phase", "step")),
    ):
        begin, length = rows["start_ns"] - zero, rows["end_ns"] - rows["start_ns"]
        times = {"ts": begin / NS_PER_US, "dur": length / NS_PER_US}
        table = pd.DataFrame({"name": names, "cat": kinds, "ph": "X", **times, "pid": process})
        table, args = table.assign(tid=threads), rows[[*about]]
        for at in range(0, len(table), AT_ONCE):
            events, told = (each[at : at + AT_ONCE].to_dict("records") for each in (table, args))
            for event, more in zip_longest(events, told):
                yield {**event, "args": more or {}}


def _lanes(activities: pd.DataFrame) -> list[int]:
    """For each activity, in order of start, the first lane that is free then."""
    free: list[int] = []
    lanes = []
    for start, end in activities[["start_ns", "end_ns"]].to_numpy().tolist():
        lane = next((place for place, until in enumerate(free) if until <= start), len(free))
        free[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the timeline of one case."""
    parser = Parser(prog="workflow_src.timeline.make", description=__doc__)
    parser.add_argument("--export", type=existing_folder, required=True, help="folder of an export")
    parser.add_argument("--svg", type=new_file, required=True, help="the picture")
    parser.add_argument("--trace", type=new_file, required=True, help="a .trace.json.gz")
    given = parser.parse_args(arguments)
    case = given.export.name
    with one_sentence(case):
        found = timeline_of(read_case(given.export))
        write_text(given.svg, draw(found))
        write_trace(given.trace, found, case)


if __name__ == "__main__":
    main()
