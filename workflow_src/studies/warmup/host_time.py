"""What a host does during the steps of a capture: its time split by the CUDA calls in progress."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from workflow_src.common.errors import TraceError

FIRST_LAUNCH, LAUNCH, OTHER_CALL, OUTSIDE = "first_launch", "launch", "other_call", "outside"
KINDS = {
    LAUNCH: r"Launch(?:Kernel|Cooperative|HostFunc|Grid)|GraphLaunch|^cuLaunch",
    "load": r"Library|Module|(?:Kernel|Func)(?:Get|Set|Load)|GetKernel|GetFunc",
    "synchronize": r"Synchronize",
    "allocate": r"Malloc|MemAlloc|HostAlloc|MemCreate|MemAddress|MemMap|MemSetAccess"
    r"|Free|MemRelease|MemUnmap",
}
"""What a CUDA call does, by the first pattern found in its name; anything else is OTHER_CALL."""

CATEGORIES = (FIRST_LAUNCH, *KINDS, OTHER_CALL, OUTSIDE)
"""What the host's time is split into: kinds of calls, and the time outside of all calls.

FIRST_LAUNCH: launches of a kernel that, by name, had not run before in the capture.
"""


@dataclass(frozen=True)
class Call:
    """A CUDA call: its thread, its start and end (host clock, ns), its name, what it launched."""

    thread: int
    start: int
    end: int
    name: str
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sorted:
    """An outermost call with its category, and how many kernels it is the first to launch."""

    start: int
    end: int
    category: str
    new_kernels: int


@dataclass(frozen=True)
class Step:
    """A step's range: its name and its start and end (host clock, ns)."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class HostTime:
    """The host's time in a step (ns) by category, which adds up to its wall time exactly.

    calls: how many began in it, by category; kernels: how many were launched for the first time.
    """

    wall_ns: int
    ns: dict[str, int]
    calls: dict[str, int]
    kernels: int


def category_of(name: str) -> str:
    """The category of a CUDA call by its name alone, which doesn't tell first launches apart."""
    found = (kind for kind, pattern in KINDS.items() if re.search(pattern, name))
    return next(found, OTHER_CALL)


def outermost(calls: Sequence[Call]) -> Iterator[Call]:
    """The calls that lie in no other call of their thread, with the kernels of those inside.

    A driver call inside a runtime call is a part of it. In order of start within each thread.
    """
    held: Call | None = None
    for call in sorted(calls, key=lambda call: (call.thread, call.start, -call.end)):
        if held and call.thread == held.thread and call.start < held.end:
            kernels = (*held.kernels, *call.kernels)
            held = Call(held.thread, held.start, max(held.end, call.end), held.name, kernels)
            continue
        if held:
            yield held
        held = call
    if held:
        yield held


def sorted_calls(calls: Sequence[Call]) -> list[Sorted]:
    """Outermost calls of all threads in order of start, each with its category."""
    seen: set[str] = set()
    found = []
    for call in sorted(outermost(calls), key=lambda call: (call.start, call.end)):
        new = set(call.kernels) - seen
        seen |= new
        category = category_of(call.name)
        category = FIRST_LAUNCH if category == LAUNCH and new else category
        found.append(Sorted(call.start, call.end, category, len(new)))
    return found


def host_time(step: Step, calls: Sequence[Sorted]) -> HostTime:
    """The host's time in a step; where calls of several threads overlap, the earliest counts."""
    ns = dict.fromkeys(CATEGORIES, 0)
    covered = step.start
    for call in calls:
        begin, end = max(call.start, covered), min(call.end, step.end)
        if end > begin:
            ns[call.category] += end - begin
            covered = end
    wall_ns = step.end - step.start
    ns[OUTSIDE] = wall_ns - sum(ns.values())
    begun = [call for call in calls if step.start <= call.start < step.end]
    counted = Counter(call.category for call in begun)
    counts = {name: counted[name] for name in CATEGORIES if name != OUTSIDE}
    return HostTime(wall_ns, ns, counts, sum(call.new_kernels for call in begun))


_RANGES = """
SELECT coalesce(n.text, s.value), n.start, n.end
FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId
WHERE n.eventType = 59 AND n.domainId = 0 AND n.end IS NOT NULL ORDER BY n.start, n.end DESC
"""
"""Ranges that a thread pushed and popped (59), in the default domain."""

_CALLS = """
SELECT r.globalTid, r.start, r.end, coalesce(s.value, ''), r.correlationId
FROM CUPTI_ACTIVITY_KIND_RUNTIME r LEFT JOIN StringIds s ON s.id = r.nameId
"""

_KERNELS = """
SELECT k.correlationId, s.value
FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName
"""


def read(database: Path) -> tuple[list[Step], list[Sorted]]:
    """Steps and CUDA calls in an nsys SQLite export of one process.

    Raises TraceError if the export has no ranges, calls or kernels.
    """
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            steps = list(_steps(connection.execute(_RANGES).fetchall()))
            launched: dict[int, list[str]] = {}
            for correlation, name in connection.execute(_KERNELS):
                launched.setdefault(correlation, []).append(name)
            calls = [
                Call(thread, start, end, name, tuple(launched.get(correlation, ())))
                for thread, start, end, name, correlation in connection.execute(_CALLS)
            ]
    except sqlite3.Error as error:
        raise TraceError(f"nsys's export of the first steps can't be read ({error})") from error
    return steps, sorted_calls(calls)


def _steps(ranges: Sequence[tuple[str, int, int]]) -> Iterator[Step]:
    """The ranges that lie in no other; the model emits ranges of its own inside a step."""
    until = -1
    for name, start, end in ranges:
        if start >= until:
            yield Step(name, start, end)
            until = end
