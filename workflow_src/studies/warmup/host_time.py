"""What the host does during the steps of a capture: its time split by the CUDA calls in progress.

The steps and calls are those that a point keeps; see `read_capture.recorded`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import accumulate

from workflow_src.captures.call_kinds import kind_of
from workflow_src.studies.study import Row

FIRST_LAUNCH, LAUNCH, OTHER_CALL, OUTSIDE = "first_launch", "launch", "other_call", "outside"
OF_KIND = {
    "launch": LAUNCH,
    "load": "load",
    "synchronize": "synchronize",
    "malloc": "allocate",
    "map": "allocate",
    "free": "allocate",
}
"""The category of a CUDA call by its kind (see call_kinds.kind_of); others are OTHER_CALL."""

CATEGORIES = (FIRST_LAUNCH, *dict.fromkeys(OF_KIND.values()), OTHER_CALL, OUTSIDE)
"""What the host's time is split into: categories of calls, and the time outside of all calls.

FIRST_LAUNCH: launches of a kernel that, by name, had not run before in the capture.
"""


@dataclass(frozen=True)
class Call:
    """A CUDA call: its thread, its start and end (ns), its name, the kernels that it launched."""

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
class HostTime:
    """The host's time in a step (ns) by category, which adds up to its wall time exactly.

    calls: how many began in it, by category; kernels: how many were launched for the first time.
    """

    wall_ns: int
    ns: dict[str, int]
    calls: dict[str, int]
    kernels: int


def split(recorded: Row) -> list[Row]:
    """A row per phase and step of a row that keeps a capture, with HostTime instead of calls."""
    calls = sorted_calls(list(calls_of(recorded)))
    about = {key: recorded[key] for key in recorded if key not in ("steps", "calls", "threads")}
    return [
        about | {"phase": phase, "step": number} | asdict(host_time(start, end, calls))
        for phase, steps in recorded["steps"].items()
        for number, (start, end) in enumerate(steps)
    ]


def calls_of(recorded: Row) -> Iterator[Call]:
    """The calls of a row that keeps a capture, thread by thread."""
    known = [(call["name"], tuple(call["kernels"])) for call in recorded["calls"]]
    for number, thread in enumerate(recorded["threads"]):
        starts = accumulate(thread["later_ns"])
        for place, start, took in zip(thread["call"], starts, thread["took_ns"], strict=True):
            yield Call(number, start, start + took, *known[place])


@cache
def category_of(name: str) -> str:
    """The category of a CUDA call by its name alone, which doesn't tell first launches apart."""
    return OF_KIND.get(kind_of(name), OTHER_CALL)


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


def host_time(start: int, end: int, calls: Sequence[Sorted]) -> HostTime:
    """The host's time from `start` to `end` (ns) of a step.

    Where calls of several threads overlap, the earliest counts.
    """
    ns = dict.fromkeys(CATEGORIES, 0)
    covered = start
    for call in calls:
        begin, until = max(call.start, covered), min(call.end, end)
        if until > begin:
            ns[call.category] += until - begin
            covered = until
    ns[OUTSIDE] = end - start - sum(ns.values())
    begun = [call for call in calls if start <= call.start < end]
    counted = Counter(call.category for call in begun)
    counts = {name: counted[name] for name in CATEGORIES if name != OUTSIDE}
    return HostTime(end - start, ns, counts, sum(call.new_kernels for call in begun))
