"""The time of a plain step with remedies, by replay, with its interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import hypot

from workflow_src.common.remedies import GRAPH
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import Plan
from workflow_src.diagnosis.remedies.effects import EFFECTS, Ends, Trial
from workflow_src.diagnosis.remedies.host import GAP_NS, Hosts, time_ns, with_host
from workflow_src.diagnosis.remedies.rates import About, Span
from workflow_src.diagnosis.remedies.steps import PASSES
from workflow_src.diagnosis.replay import changed, replayed

MEASURED = 0.02
"""Relative uncertainty (95 %) of a device time that a profiler gives: passes agree within 1 %."""

REPEATED = 0.005
"""A plain step that the device sets the pace of is repeated no better, relatively: medians of its
blocks in one process differ by 0.1 to 1 %."""

REMOVED_UNSURE = 0.09
HOST_UNSURE = 0.6
"""How far predictions were off beyond what else is uncertain of them, as shares of the device's
work that goes, and of the time in which the device would not work (benchmarks/README.md)."""

LUCK_WIDER = 2.0
"""Another process lies between the fastest and the slowest of three as often as not: 95 % take an
interval about twice as wide."""

LUCK = "processes' luck"
DEVICE = "the device's work"
GAPS = "gaps of a graph"
HOST = "host's launches, {}"
"""Uncertain quantities of the plain step itself; the last one, of a pass."""


def luck(median_ms: float, fastest_ms: float, slowest_ms: float) -> Span:
    """How processes differ in the host's time, as factors."""
    least, most = (LUCK_WIDER * (each / median_ms - 1) for each in (fastest_ms, slowest_ms))
    return Span(1 + max(-0.9, min(least, -MEASURED)), 1.0, 1 + max(most, MEASURED))


@dataclass(frozen=True, eq=False)
class PlainStep:
    """A phase of a case without remedies, as it is replayed.

    hosts: the host's time for a launch (ns) by pass; luck: how processes differ in it, as a factor;
    graph_gap_ns: between two kernels of a graph.
    """

    about: About
    plain_ms: float
    hosts: Hosts
    luck: Span
    graph_gap_ns: Span

    def predicted(self, remedies: Sequence[str]) -> Span:
        """The time with remedies, in their order, with its 95 % interval.

        Raises NotKnownError if the effect of one can't be told.
        """
        graph, step = GRAPH in remedies, self.about.step

        def time_ms(ends: Ends) -> float:
            plan = self._plan(graph, ends)
            return replayed(self._with(remedies, plan, ends).plan).step_ns / NS_PER_MS

        # What it takes of the device without the host.
        bare = self._with(remedies, Plan.of(step.recording), {})
        device_ms = float(bare.plan.duration_ns[~bare.plan.dropped].sum()) / NS_PER_MS
        removed_ms = abs(float(step.work["device_ms"].sum()) - device_ms)
        usual_ms = time_ms({})
        host_ms = 0.0 if graph else max(0.0, usual_ms - device_ms)
        unsure_ms = hypot(REPEATED * usual_ms, REMOVED_UNSURE * removed_ms, HOST_UNSURE * host_ms)
        own = [DEVICE, GAPS] if graph else [LUCK, *self._unsure_hosts()]
        least_ms = self.about.least_ms(bare.precision)
        return interval(time_ms, [*sorted(bare.asked), *own], unsure_ms, least_ms)

    def _with(self, remedies: Sequence[str], plan: Plan, ends: Ends) -> Trial:
        """A plan with remedies and quantities at these ends."""
        trial = Trial(self.about, plan, ends, self.about.precision, self.about.optimizer)
        for remedy in remedies:
            EFFECTS[remedy](trial)
        return trial

    def _unsure_hosts(self) -> list[str]:
        """The passes' quantities of HOST that aren't certain."""
        made = set(self.about.step.work["pass"])
        certain = {name for name, span in self.hosts.items() if span.least >= span.most}
        return [HOST.format(name) for name in PASSES if name in made - certain]

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
    """The plain time over that which a step takes with such a host, by pass."""
    by_pass = dict(zip(plain.hosts, hosts, strict=True))
    return plain.plain_ms * NS_PER_MS / time_ns(plain.about.step, by_pass)


def interval(
    time: Callable[[Ends], float], quantities: Sequence[str], unsure: float, least: float = 0.0
) -> Span:
    """A time with its 95 % interval, which is `unsure` either way if all quantities are certain.

    It begins at `least`, below which no time can be, or at the usual time if that is shorter.

    Each quantity is moved to both of its ends, the time is computed again, and the differences are
    added as the root of the sum of their squares (S. J. Kline and F. A. McClintock, "Describing
    uncertainties in single-sample experiments", Mechanical Engineering 75, 1953).
    """
    usual = time({})
    below = above = unsure**2
    for name in quantities:
        off = [time({name: end}) - usual for end in (-1, 1)]
        below, above = below + min(0.0, *off) ** 2, above + max(0.0, *off) ** 2
    return Span(max(min(least, usual), usual - below**0.5), usual, usual + above**0.5)
