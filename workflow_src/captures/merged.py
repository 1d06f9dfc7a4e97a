"""Traces of several ranks that a tool merged into one, whose processes are named by text.

SGLang's merge_profiles (python/sglang/srt/utils/profile_merger.py) makes "[TP00] 500" of process
500 of rank 0, and "[TP00] 0" of its device, and leaves numbers of launches as they were, so that
all ranks have the same ones. A launch is that of its own rank: of a process whose text is that of
the device but for one number.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Capture, Note, Threads, as_small, printable
from workflow_src.captures.event_columns import Columns
from workflow_src.common.intervals import Indices, Integers

OTHER_THREADS = 2**32
"""Added to threads' numbers but the main one's, which is its process's, as elsewhere on Linux."""

LAUNCH_BITS = 32
"""Of a profiler's number of a launch. In a merged trace its rank, from 1, stands above them."""

ON_HOST = ("range", "call", "operator")
NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Named:
    """Processes that the file names by text: by number in its events, what each is called.

    texts: in the file; numbers: in the capture; first: by its main thread, which has the number
    that stands in the text.
    """

    texts: Mapping[int, str]
    numbers: Mapping[int, int]
    first: Mapping[int, int]

    def of(self, capture: Capture) -> Capture:
        """A capture whose processes have their numbers, which a note explains."""
        if not self.texts:
            return capture
        names = (f"{self.numbers[each]} is {printable(self.texts[each])}" for each in self.numbers)
        note = Note("named processes", len(self.texts), ", ".join(names))
        return replace(
            capture,
            ranges=self._of(capture.ranges),
            work=self._of(capture.work),
            calls=self._of(capture.calls),
            threads=Threads(self._of(capture.threads.names), self._of(capture.threads.flows)),
            notes=(*capture.notes, note),
        )

    def _of(self, rows: pd.DataFrame) -> pd.DataFrame:
        own = rows["process"].to_numpy(dtype=np.int64)
        return numbered(rows, _called(own, self.numbers), _called(own, self.first))


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


def told_apart(
    columns: Mapping[str, Columns], texts: Mapping[str, int]
) -> tuple[dict[str, Columns], Named]:
    """The parts of a trace with launches numbered apart by rank, and the processes named by text.

    texts: by the number that they have in events.
    """
    hosts, lanes, others = (
        _named(columns, parts, texts) for parts in (ON_HOST, ("work",), ("overhead",))
    )
    if not hosts:
        return dict(columns), Named({}, {}, {})
    place = _place(hosts.values(), lanes.values())
    label = {number: _split(text, place)[0] for number, text in (hosts | lanes | others).items()}
    codes = {each: n for n, each in enumerate(dict.fromkeys(label.values()), start=1)}
    rank = {number: codes[each] << LAUNCH_BITS for number, each in label.items()}
    only = {number: _only(label[number], hosts, label) for number in lanes | others}
    found = {}
    for part, each in columns.items():
        own, launch = each.numbers["process"], each.numbers["correlation"]
        above = np.where(launch > 0, _called(own, dict.fromkeys(own.tolist(), 0) | rank), 0)
        changed = {"correlation": launch + above, "process": _called(own, only)}
        if part == "work":
            device = np.where(np.isin(own, [*lanes]), own, each.numbers["device"])
            changed["device"] = _called(device, _in_order(lanes, device))
        found[part] = replace(each, numbers=each.numbers | changed)
    used = np.concatenate([each.numbers["process"] for each in columns.values()])
    first = {number: _split(text, place)[1] for number, text in hosts.items()}
    return found, Named(hosts, _in_order(hosts, used), first)


def _named(
    columns: Mapping[str, Columns], parts: Iterable[str], texts: Mapping[str, int]
) -> dict[int, str]:
    """The processes of some parts that are named by text."""
    some = [columns[part].numbers["process"] for part in parts if part in columns]
    numbers = {*np.unique(np.concatenate([[], *some])).tolist()}
    return {number: text for text, number in texts.items() if number in numbers}


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


def _only(label: str, hosts: Iterable[int], of: Mapping[int, str]) -> int:
    """The process with a label, if it is the only one."""
    those = [host for host in hosts if of[host] == label]
    return those[0] if len(those) == 1 else UNKNOWN


def _in_order(named: Mapping[int, str], used: Indices) -> dict[int, int]:
    """Numbers from 0 on that aren't used, by text, in which 2 is before 10."""

    def by(number: int) -> list[str | int]:
        parts = re.split(r"(\d+)", named[number])
        return [int(part) if n % 2 else part for n, part in enumerate(parts)]

    taken = {*np.unique(used).tolist()}
    free = (number for number in count() if number not in taken)
    return dict(zip(sorted(named, key=by), free, strict=False))


def _called(values: Indices, names: Mapping[int, int]) -> Indices:
    """Each value by another name, if it has one."""
    code, distinct = pd.factorize(values)
    return np.array([names.get(each, each) for each in distinct.tolist()], dtype=np.int64)[code]
