"""Traces of several ranks that a tool merged into one, whose processes are named by text.

SGLang's merge_profiles (python/sglang/srt/utils/profile_merger.py) makes "[TP00] 500" of process
500 of rank 0, and "[TP00] 0" of its device, and leaves numbers of launches as they were, so that
all ranks have the same ones. A launch is that of its own rank: of a process whose text is that of
the device but for one number.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import count

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Note, as_small
from workflow_src.captures.rows import Parts
from workflow_src.common.intervals import Indices, Integers
from workflow_src.common.printable import printable

OTHER_THREADS = 2**32
"""Added to threads' numbers but the main one's, which is its process's, as elsewhere on Linux."""

LAUNCH_BITS = 32
"""Of a profiler's number of a launch. In a merged trace its rank, from 1, stands above them."""

NAMED = "named"
"""A column of work: the process that the name of its device says, or UNKNOWN."""

ON_HOST = ("ranges", "calls", "operators")
NUMBER = re.compile(r"-?\d+")


def numbered(rows: pd.DataFrame, number: Integers | int, first: Integers) -> pd.DataFrame:
    """Rows whose processes have another `number`, but for UNKNOWN, and so do their threads.

    first: the number of the main thread of each row's process until now.
    """
    process, threads = rows["process"].to_numpy(), {}
    for name in {"thread", "forward_thread"} & {*rows.columns}:
        own = rows[name].to_numpy(dtype=np.int64)
        other = np.where(own == first, number, own + OTHER_THREADS)
        threads[name] = np.where(own == UNKNOWN, UNKNOWN, other)
    called = np.where(process == UNKNOWN, UNKNOWN, number)
    return rows.assign(process=as_small(called), **threads)


def told_apart(parts: Parts, texts: Mapping[str, int]) -> tuple[Parts, list[Note]]:
    """The parts of a trace with launches numbered apart by rank, processes that the file names by
    text numbered in the order of these, and a note that says so.

    texts: by the number that they have in events.
    """
    used = {part: {*rows["process"].unique().tolist()} for part, rows in parts.items()}
    of_host = {n for part in ON_HOST for n in used.get(part, ())}
    hosts, lanes, others = (
        {number: text for text, number in texts.items() if number in some}
        for some in (of_host, used.get("work", ()), used["overheads"])
    )
    if not hosts:
        return parts, []
    place = _place(hosts.values(), lanes.values())
    label, first = dict[int, str](), dict[int, int]()
    for number, text in (hosts | lanes | others).items():
        label[number], first[number] = _split(text, place)
    codes = {each: n for n, each in enumerate(dict.fromkeys(label.values()), start=1)}
    rank = {number: codes[each] << LAUNCH_BITS for number, each in label.items()}
    alike = {number: [n for n in hosts if label[n] == label[number]] for number in lanes | others}
    host_of = {n: those[0] if len(those) == 1 else UNKNOWN for n, those in alike.items()}
    events = (*ON_HOST, "overheads", "work")
    taken = {host_of.get(n, n) for part in events for n in used.get(part, ())}
    shown = _in_order(hosts, taken)
    found = {}
    for part, rows in parts.items():
        own = rows["process"].to_numpy()
        if part in events and "correlation" in rows:
            above = _called(own, dict.fromkeys(own.tolist(), 0) | rank)
            launch = rows["correlation"].to_numpy()
            rows = rows.assign(correlation=launch + np.where(launch > 0, above, 0))
        host = _called(own, host_of if part in events else {})
        if part == "work":
            device = np.where(np.isin(own, [*lanes]), own, rows["device"])
            device = _called(device, _in_order(lanes, {*device.tolist()}))
            is_named = np.isin(host, [*hosts])
            rows = rows.assign(
                device=device, **{NAMED: np.where(is_named, _called(host, shown), UNKNOWN)}
            )
        else:
            rows = numbered(rows.assign(process=host), _called(host, shown), _called(host, first))
        found[part] = rows
    names = (f"{number} is {printable(hosts[own])}" for own, number in shown.items())
    return found, [Note("named processes", len(hosts), ", ".join(names))]


def _place(hosts: Iterable[str], lanes: Iterable[str]) -> int:
    """Which number in texts, counted from the end, is that of the process or device itself.

    Without it, each device's text is that of some process. The last one if none is so.
    """
    most = max(len(NUMBER.findall(text)) for text in hosts)
    for place in range(1, most + 1):
        if {_split(text, place)[0] for text in lanes} <= {_split(text, place)[0] for text in hosts}:
            return place
    return 1


def _split(text: str, place: int) -> tuple[str, int]:
    """A text without one of its numbers, and that number; UNKNOWN if there is none."""
    numbers = [*NUMBER.finditer(text)]
    if len(numbers) < place:
        return text, UNKNOWN
    begin, end = numbers[-place].span()
    return text[:begin] + text[end:], int(text[begin:end])


def _in_order(named: Mapping[int, str], taken: Iterable[int]) -> dict[int, int]:
    """Numbers from 0 on that aren't taken, by text, in which 2 is before 10."""

    def by(number: int) -> list[str | int]:
        parts = re.split(r"(\d+)", named[number])
        return [int(part) if n % 2 else part for n, part in enumerate(parts)]

    free = (number for number in count() if number not in {*taken})
    return dict(zip(sorted(named, key=by), free, strict=False))


def _called(values: Indices, names: Mapping[int, int]) -> Indices:
    """Each value by another name, if it has one."""
    code, distinct = pd.factorize(values)
    return np.array([names.get(each, each) for each in distinct.tolist()], dtype=np.int64)[code]
