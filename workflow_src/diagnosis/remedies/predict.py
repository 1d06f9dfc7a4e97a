"""The time of a plain step with remedies, by replay, with its interval (docs/replay.md)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import hypot
from typing import NamedTuple

import numpy as np

from workflow_src.common.remedies import GRAPH
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Edit, Plan, Span
from workflow_src.diagnosis.remedies.effects import EFFECTS, Ends, Trial
from workflow_src.diagnosis.remedies.rates import About
from workflow_src.diagnosis.remedies.steps import PASSES, UNIT_NS, Launched
from workflow_src.diagnosis.replay import changed, largest, replay, replayed

CLOSE = 0.0005
"""The share of a phase's time to which the host's is solved for."""

SETS_PACE = 0.85
"""The device sets the pace if with the fastest host known a phase takes this share of its time."""

LAUNCH_BOUND = 0.7
"""A pass is launch-bound if its device time is less than this share of the host's."""

GAP_NS = 1_500
"""Between two kernels of a stream (1.3 to 1.9 us, examples/h200 of 6a6a4d6)."""

USUAL_NS = Span(5_000.0, 15_000.0, 35_000.0)
"""The host's time for a launch where no case of the run is launch-bound: what those of
examples/h100 and examples/h200 of 6a6a4d6 show."""

SLOWEST = 2.0
"""No host's launches take more than so many times the most that launch-bound cases show."""

MEASURED = 0.02
"""Relative uncertainty (95 %) of a profiler's device time: passes agree within 1 %."""

REPEATED = 0.005
"""Relative uncertainty of a plain step that the device sets the pace of: medians of its blocks in
one process differ by 0.1 to 1 %."""

REMOVED_UNSURE, HOST_UNSURE = 0.09, 0.6
"""How far predictions were off beyond other uncertainties, as shares of the device's work that
goes, and of the time in which the device would not work (benchmarks/README.md)."""

LUCK_WIDER = 2.0
"""Another process lies between the fastest and the slowest of three as often as not: an interval
of 95 % is about twice as wide."""

LUCK, DEVICE, GAPS = "processes' luck", "the device's work", "gaps of a graph"
HOST = "host's launches, {}"
"""Uncertain quantities of the plain step itself; the last, of a pass."""


class Solved(NamedTuple):
    """The host's time for a launch of a phase's last pass that gives the plain time, at most, and
    whether the pass is then launch-bound."""

    host_ns: float
    launch_bound: bool


def with_host(
    step: Launched, hosts: Mapping[str, float], gap_ns: float = GAP_NS, times: float = 1.0
) -> Edit:
    """The edit by which launches take the host so long (ns), by pass; those of others none.

    Kernels have gap_ns between them, which counts as theirs, and take `times` as long.
    """
    factor = times * (1 + gap_ns / np.maximum(step.recording.columns["work.end_ns"], 1))
    passes = [step.of("pass", name) for name in PASSES]
    host_ns = np.select(passes, [hosts.get(name, 0.0) for name in PASSES])[step.row]
    every = np.arange(len(factor))
    return Edit(every, every, gap_factor=host_ns / UNIT_NS, factor=factor)


def time_ns(step: Launched, hosts: Mapping[str, float]) -> float:
    """What a step takes with such a host."""
    return replay(step.recording, [with_host(step, hosts)]).step_ns


def solved(step: Launched, plain_ms: float, earlier: Mapping[str, float], last: str) -> Solved:
    """The host's time for a launch of the `last` pass, at most, by that of `earlier` ones."""
    calls = step.where(step.of("pass", last))
    launches, plain_ns = max(1, len(calls)), plain_ms * NS_PER_MS

    def takes(host_ns: float) -> float:
        return time_ns(step, {**earlier, last: host_ns})

    enough = max(plain_ns, takes(0.0)) * (1 + CLOSE)
    host_ns = largest(takes, plain_ns / launches, enough)
    device_ns = float(step.recording.columns["work.end_ns"][calls].sum()) + GAP_NS * launches
    return Solved(host_ns, device_ns / max(1.0, host_ns * launches) < LAUNCH_BOUND)


def usual_hosts(cases: Sequence[Mapping[str, Solved]]) -> dict[str, Span]:
    """What launch-bound phases show of each pass's launches (ns): least, median, most."""
    found = {}
    for name in PASSES:
        every = [case[name] for case in cases if name in case]
        shown = [each.host_ns for each in every if each.launch_bound and each.host_ns > 0]
        if shown:
            found[name] = Span(*np.quantile(shown, (0.1, 0.5, 0.9)).tolist())
    return found


def host_span(
    step: Launched,
    solution: Solved,
    earlier: Mapping[str, float],
    last: str,
    usual: Span | None,
    ends_ms: Sequence[tuple[float, float]],
) -> Span:
    """The host's time for a launch (ns).

    usual: in the run's launch-bound cases; ends_ms: of the plain times of the phase and the one
    before it, by which their difference may be off.
    """
    most, usual = solution.host_ns, usual or USUAL_NS
    if most <= usual.least and not solution.launch_bound:
        return Span(0.0, most, most)
    slow, fast = (time_ns(step, {**earlier, last: each}) for each in (most, usual.least))
    if most <= usual.least or fast < SETS_PACE * slow:
        unsure_ms = float(np.hypot.reduce([(most - least) / 2 for least, most in ends_ms]))
        unsure_ns = unsure_ms * NS_PER_MS / max(1, len(step.where(step.of("pass", last))))
        return Span(max(0.0, most - unsure_ns), most, most + unsure_ns)
    most = min(most, SLOWEST * usual.most)
    return Span(usual.least, min(most, usual.usual), most)


def luck(median_ms: float, fastest_ms: float, slowest_ms: float) -> Span:
    """How processes differ in the host's time, as factors."""
    least, most = (LUCK_WIDER * (each / median_ms - 1) for each in (fastest_ms, slowest_ms))
    return Span(1 + max(-0.9, min(least, -MEASURED)), 1.0, 1 + max(most, MEASURED))


@dataclass(frozen=True, eq=False)
class PlainStep:
    """A phase of a case without remedies, as it is replayed.

    hosts: the host's time for a launch (ns) by pass; luck: how processes differ in it, a factor;
    graph_gap_ns: between two kernels of a graph.
    """

    about: About
    plain_ms: float
    hosts: Mapping[str, Span]
    luck: Span
    graph_gap_ns: Span

    def predicted(self, remedies: Sequence[str]) -> Span:
        """The time (ms) with remedies, in their order, with its 95 % interval.

        Raises NotKnownError if the effect of one can't be told.
        """
        graph, step = GRAPH in remedies, self.about.step

        def changed_by(plan: Plan, ends: Ends) -> Trial:
            trial = Trial(self.about, plan, ends, self.about.precision)
            for remedy in remedies:
                EFFECTS[remedy](trial)
            return trial

        def time_ms(ends: Ends) -> float:
            plan = changed_by(self._plan(graph, ends), ends).plan
            return replayed(plan).step_ns / NS_PER_MS

        # The device's time without the host.
        bare = changed_by(Plan.of(step.recording), {})
        device_ms = float(bare.plan.duration_ns[~bare.plan.dropped].sum()) / NS_PER_MS
        removed_ms = abs(float(step.work["device_ms"].sum()) - device_ms)
        usual_ms = time_ms({})
        host_ms = 0.0 if graph else max(0.0, usual_ms - device_ms)
        unsure_ms = hypot(REPEATED * usual_ms, REMOVED_UNSURE * removed_ms, HOST_UNSURE * host_ms)
        made, hosts = set(step.work["pass"]), self.hosts
        unsure = [n for n in PASSES if n in made and hosts[n].least < hosts[n].most]
        own = [DEVICE, GAPS] if graph else [LUCK, *map(HOST.format, unsure)]
        least_ms = self.about.least_ms(bare.precision)
        return interval(time_ms, [*sorted(bare.asked), *own], unsure_ms, least_ms)

    def _plan(self, graph: bool, ends: Ends) -> Plan:
        """The plain step, which takes the plain time.

        What host and device together don't explain of it is put on both alike; a graph's kernels
        keep their own time, if that isn't longer.
        """
        hosts = {n: span.at(ends.get(HOST.format(n), 0)) for n, span in self.hosts.items()}
        times = scale = _scale(self, *hosts.values())
        luck, gap_ns = self.luck.at(ends.get(LUCK, 0)), float(GAP_NS)
        if graph:
            # By what the device's work is shorter than recorded, if it exceeds the plain time.
            bare = min(1.0, _scale(self, *[0.0] * len(hosts)))
            times = bare * (1 + MEASURED * ends.get(DEVICE, 0))
            gap_ns = self.graph_gap_ns.at(ends.get(GAPS, 0))
        used = {name: host * scale * luck for name, host in hosts.items()}
        step = self.about.step
        return changed(step.recording, [with_host(step, used, gap_ns, times)])


@lru_cache(maxsize=64)
def _scale(plain: PlainStep, *hosts: float) -> float:
    by_pass = dict(zip(plain.hosts, hosts, strict=True))
    return plain.plain_ms * NS_PER_MS / time_ns(plain.about.step, by_pass)


def interval(
    time: Callable[[Ends], float], quantities: Sequence[str], unsure: float, least: float = 0.0
) -> Span:
    """A time with its 95 % interval, which is `unsure` either way if all quantities are certain.

    It begins at `least`, or at the usual time if that is shorter. Each quantity is moved to both of
    its ends, and the differences are added as the root of the sum of their squares (S. J. Kline and
    F. A. McClintock, "Describing uncertainties in single-sample experiments", Mechanical
    Engineering 75, 1953).
    """
    usual = time({})
    below = above = unsure**2
    for name in quantities:
        off = [time({name: end}) - usual for end in (-1, 1)]
        below, above = below + min(0.0, *off) ** 2, above + max(0.0, *off) ** 2
    return Span(max(min(least, usual), usual - below**0.5), usual, usual + above**0.5)
