"""A made-up program: its ranges and launches, with where each launch's time belongs.

The truth is written down by hand for each launch. It is not computed from the ranges by the rule
that is tested. Times are nanoseconds in an export of nsys, and microseconds in a trace of
torch.profiler.
"""

from collections import Counter
from dataclasses import dataclass, field

from benchmarks.conformance.truth import INCLUSIVE, OWN, PATH, SPAN, Truth


@dataclass(frozen=True)
class Range:
    """A range; `ended_on` says on which thread a started one ended, `end` None: it never did."""

    name: str
    start: int
    end: int | None
    thread: int = 1
    process: int = 1
    domain: int = 0
    registered: bool = False
    ended_on: int | None = None


@dataclass(frozen=True)
class Work:
    """Device work, and the call that launched it (`at`; None: not in the capture).

    path: the names of the ranges that it belongs to, outermost first; empty: it belongs nowhere.
    also: names of ranges that were open as well, and that overlap those of the path.
    start: if it isn't right after the launch. number: if calls of two processes share it.
    """

    at: int | None
    length: int
    path: tuple[str, ...] = ()
    kind: str = "KERNEL"
    thread: int = 1
    process: int = 1
    also: tuple[str, ...] = ()
    start: int | None = None
    stream: int = 7
    device: int = 0
    number: int | None = None
    name: str = "gemm"

    @property
    def begins(self) -> int:
        """When the device starts on it."""
        return (self.at or 0) + 5 if self.start is None else self.start


@dataclass(frozen=True)
class Scenario:
    """One trace. `domains`: number and name of those that ranges are pushed in.

    torch: whether a trace of torch.profiler can show the same.
    """

    name: str
    kind: str
    ranges: list[Range]
    work: list[Work]
    domains: dict[int, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    torch: bool = True


def truth_of(scenario: Scenario, unit: int = 1) -> Truth:
    """What is true of a scenario whose times are multiples of `unit` nanoseconds."""
    path: Counter[str] = Counter()
    own: Counter[str] = Counter()
    inclusive: Counter[str] = Counter()
    nowhere, bounds = 0, Bounds(scenario)
    for work in scenario.work:
        ns = work.length * unit
        if not work.path:
            nowhere += ns
            continue
        path["/".join(work.path)] += ns
        own[work.path[-1]] += ns
        names = {*work.path, *work.also}
        inclusive.update(dict.fromkeys(names, ns))
        bounds.add(work, names)
    return Truth(
        total=sum(work.length for work in scenario.work) * unit,
        nowhere=nowhere,
        sums={PATH: path, OWN: own, INCLUSIVE: inclusive, SPAN: bounds.spans(unit)},
        roots=frozenset(work.path[0] for work in scenario.work if work.path),
        domains=tuple(name for name in scenario.domains.values()),
        libraries=scenario.libraries,
    )


class Bounds:
    """The first start and last end of the work of each range of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.by_name: dict[str, list[Range]] = {}
        for span in scenario.ranges:
            self.by_name.setdefault(span.name, []).append(span)
        self.found: dict[Range, tuple[int, int]] = {}

    def add(self, work: Work, names: set[str]) -> None:
        """Count work to the ranges of these names that are open at its launch."""
        at = work.at or 0
        for name in names:
            for span in self.by_name[name]:
                ends = float("inf") if span.end is None else span.end
                if span.process == work.process and span.start <= at < ends:
                    first, last = self.found.get(span, (work.begins, work.begins))
                    end = work.begins + work.length
                    self.found[span] = min(first, work.begins), max(last, end)

    def spans(self, unit: int) -> dict[str, int]:
        """The sum of the lengths of all ranges of a name."""
        total: Counter[str] = Counter()
        for span, (first, last) in self.found.items():
            total[span.name] += (last - first) * unit
        return dict(total)


MAIN, OTHER = 1, 2
"""Threads; a process's id is that of its main thread."""

STEP, FWD, BWD = Range("step", 0, 1000), Range("fwd", 100, 400), Range("bwd", 500, 900)
"""Ranges that many scenarios have."""
