"""The time of a plain step with remedies, by replay, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import Plan
from workflow_src.diagnosis.remedies.effects import applied
from workflow_src.diagnosis.remedies.host import Hosts, time_ns, with_host
from workflow_src.diagnosis.remedies.phase import About
from workflow_src.diagnosis.remedies.span import Ends, Span, interval
from workflow_src.diagnosis.remedies.trial import Trial
from workflow_src.diagnosis.remedies.work import PASSES
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


def luck(median_ms: float, fastest_ms: float, slowest_ms: float) -> Span:
    """How processes differ in the host's time, as factors."""
    least, most = (LUCK_WIDER * (each / median_ms - 1) for each in (fastest_ms, slowest_ms))
    return Span(1 + max(-0.9, min(least, -MEASURED)), 1.0, 1 + max(most, MEASURED))


@dataclass(frozen=True)
class Prediction:
    """A step with remedies.

    time_ms: with its 95 % interval; device_ms: the device's work; launches: calls the host makes.
    """

    time_ms: Span
    device_ms: float
    launches: float


@dataclass(frozen=True)
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

    @cached_property
    def passes(self) -> list[str]:
        """The passes that it consists of."""
        made = set(self.about.step.work["pass"])
        return [name for name in PASSES if name in made]

    def predicted(self, remedies: Sequence[str]) -> Prediction:
        """With remedies, in their order. Raises NotKnownError if one's effect can't be told."""
        usual = self._trial(remedies, {})
        quantities = [*sorted(usual.asked), *self._uncertain("graph" in remedies)]
        bare = applied(self._started(Plan.of(self.about.step.recording), {}), remedies)
        device_ms = float(bare.plan.duration_ns[~bare.plan.dropped].sum()) / NS_PER_MS
        usual_ms = replayed(usual.plan).step_ns / NS_PER_MS
        unsure_ms = self._unsure_ms(usual_ms, device_ms, "graph" in remedies)
        least_ms = self.about.least_ms(usual.precision)
        time = interval(lambda ends: self._time_ms(remedies, ends), quantities, unsure_ms, least_ms)
        launches = int((bare.plan.gap_ns > 0).sum()) + bare.extra_launches
        return Prediction(time, device_ms, launches)

    def _unsure_ms(self, usual_ms: float, device_ms: float, graph: bool) -> float:
        """How far a time with remedies may be off if all quantities are certain."""
        removed_ms = abs(float(self.about.step.work["device_ms"].sum()) - device_ms)
        host_ms = 0.0 if graph and self.about.update_in_graph else max(0.0, usual_ms - device_ms)
        return hypot(REPEATED * usual_ms, REMOVED_UNSURE * removed_ms, HOST_UNSURE * host_ms)

    def _uncertain(self, graph: bool) -> list[str]:
        """The uncertain quantities of the plain step itself."""
        if graph and self.about.update_in_graph:
            return [DEVICE, GAPS]
        hosts = [host_of(name) for name in self.passes if self.hosts[name].is_uncertain]
        return [LUCK, *hosts, *([DEVICE, GAPS] if graph else [])]

    def _time_ms(self, remedies: Sequence[str], ends: Ends) -> float:
        return replayed(self._trial(remedies, ends).plan).step_ns / NS_PER_MS

    def _trial(self, remedies: Sequence[str], ends: Ends) -> Trial:
        return applied(self._started(self._plan("graph" in remedies, ends), ends), remedies)

    def _started(self, plan: Plan, ends: Ends) -> Trial:
        about = self.about
        return Trial(about, plan, ends, about.precision, about.optimizer)

    def _plan(self, graph: bool, ends: Ends) -> Plan:
        """The plain step, which takes the plain time.

        What host and device together don't explain of it is put on both alike; a graph's kernels
        keep their own time, if that isn't longer.
        """
        hosts = {name: span.at(ends.get(host_of(name), 0)) for name, span in self.hosts.items()}
        scale = self._scale(tuple(hosts.items()))
        luck = self.luck.at(ends.get(LUCK, 0))
        used = {name: host * scale * luck for name, host in hosts.items()}
        step = self.about.step
        if not graph:
            scaled = with_host(step, used, times=scale)
        else:
            gap_ns = self.graph_gap_ns.at(ends.get(GAPS, 0))
            times = self._bare * (1 + MEASURED * ends.get(DEVICE, 0))
            scaled = with_host(step, used, gap_ns, times)
        return changed(step.recording, scaled)

    @cached_property
    def _bare(self) -> float:
        """By what the device's work is shorter than recorded, if it exceeds the plain time."""
        return min(1.0, self._scale(tuple((name, 0.0) for name in self.hosts)))

    def _scale(self, hosts: tuple[tuple[str, float], ...]) -> float:
        if hosts not in self._scales:
            self._scales[hosts] = self.plain_ms * NS_PER_MS / time_ns(self.about.step, dict(hosts))
        return self._scales[hosts]

    @cached_property
    def _scales(self) -> dict[tuple[tuple[str, float], ...], float]:
        return {}


def host_of(name: str) -> str:
    """The uncertain quantity of the host's time for a launch in a pass."""
    return f"host's launches, {name}"
