"""The host's own time for a launch, solved pass by pass from the plain times of the phases.

Where the device sets the pace, the plain time doesn't tell it: then it is between the least that
the run's launch-bound cases of that host show, and the most that the plain time allows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.changes import Change, ScaleGap, ScaleWork
from workflow_src.diagnosis.remedies.span import Span
from workflow_src.diagnosis.remedies.steps import UNIT_NS, Launched
from workflow_src.diagnosis.remedies.work import PASSES
from workflow_src.diagnosis.replay import replay

CLOSE = 0.0005
"""The share of a phase's time to which the host's is solved for."""

SETS_PACE = 0.85
"""The device sets the pace if with the fastest host known a phase takes this share of its time."""

LAUNCH_BOUND = 0.7
"""A pass is launch-bound if its device time is less than this share of the host's."""

GAP_NS = 1_500
"""Between two kernels of a stream, each launched by itself (examples/h200: 1.3 to 1.9 us)."""

USUAL_NS = Span(5_000.0, 15_000.0, 35_000.0)
"""The host's time for a launch where no case of the run is launch-bound: what those of
examples/h100 and examples/h200 show, whose hosts differ by so much."""

SLOWEST = 2.0
"""No host launches in more than so many times the most that launch-bound cases show."""

Hosts = Mapping[str, Span]
"""The host's own time for a launch (ns), by pass."""


@dataclass(frozen=True)
class Solved:
    """What a phase tells of its last pass.

    host_ns: the host's time for a launch that gives the plain time, at most; device_share: the
    pass's device time as a share of what the host then takes to launch it.
    """

    host_ns: float
    device_share: float

    @property
    def launch_bound(self) -> bool:
        """Whether launching takes the time."""
        return self.device_share < LAUNCH_BOUND


def with_host(
    step: Launched, hosts: Mapping[str, float], gap_ns: float = GAP_NS, times: float = 1.0
) -> list[Change]:
    """The changes by which launches take the host so long (ns), by pass.

    Kernels have gap_ns between them, which counts as theirs, and take `times` as long.
    """
    changes: list[Change] = []
    for name in PASSES:
        calls = step.where(step.of("pass", name))
        if len(calls):
            changes.append(ScaleGap(calls, hosts[name] / UNIT_NS))
    duration = np.maximum(step.recording.work["end_ns"].to_numpy(), 1)
    factor = times * (1 + gap_ns / duration)
    changes.append(ScaleWork(np.arange(len(duration)), factor))
    return changes


def time_ns(step: Launched, hosts: Mapping[str, float]) -> float:
    """What a step takes with such a host."""
    return replay(step.recording, with_host(step, hosts)).step_ns


def solved(step: Launched, plain_ms: float, earlier: Mapping[str, float], last: str) -> Solved:
    """The host's time for a launch of the `last` pass, at most; of `earlier` ones it is known."""
    target = plain_ms * NS_PER_MS

    def took(host_ns: float) -> float:
        return time_ns(step, {**earlier, last: host_ns})

    calls = step.where(step.of("pass", last))
    launches = max(1, len(calls))
    enough = max(target, took(0.0)) * (1 + CLOSE)
    host_ns = _bisected(took, target / launches, enough)
    device_ns = float(step.recording.work["end_ns"].to_numpy()[calls].sum()) + GAP_NS * launches
    return Solved(host_ns, device_ns / max(1.0, host_ns * launches))


def _bisected(took: Callable[[float], float], most: float, enough: float) -> float:
    """The largest host's time, at most `most`, with which a step takes at most `enough` (ns)."""
    low, high = 0.0, most
    while high - low > CLOSE * most:
        middle = (low + high) / 2
        low, high = (middle, high) if took(middle) <= enough else (low, middle)
    return low


def usual_hosts(every: Mapping[str, list[Solved]]) -> dict[str, Span]:
    """What launch-bound phases show of each pass's launches: least, median, most (ns)."""
    found = {}
    for name, phases in every.items():
        bound = [each.host_ns for each in phases if each.launch_bound and each.host_ns > 0]
        if bound:
            found[name] = Span(*(float(q) for q in np.quantile(bound, (0.1, 0.5, 0.9))))
    return found


def host_span(
    step: Launched, solution: Solved, earlier: Mapping[str, float], last: str, usual: Span | None
) -> Span:
    """The host's time for a launch (ns): the one that gives the plain time, or an interval."""
    most, usual = solution.host_ns, usual or USUAL_NS
    if most <= usual.least:
        return Span(most, most, most) if solution.launch_bound else Span(0.0, most, most)
    slow, fast = (time_ns(step, {**earlier, last: each}) for each in (most, usual.least))
    if fast < SETS_PACE * slow:
        return Span(most, most, most)
    most = min(most, SLOWEST * usual.most)
    return Span(usual.least, min(most, usual.usual), most)
