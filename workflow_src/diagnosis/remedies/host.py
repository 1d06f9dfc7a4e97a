"""The host's own time for a launch, solved pass by pass from the plain times of the phases.

Where the device sets the pace, the plain time doesn't tell it: then it is between the least that
the run's launch-bound cases of that host show, and the most that the plain time allows. Where the
host does, it is what phases differ by, which were timed at different moments; so it is known only
as well as they are steady.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.remedies.rates import Span
from workflow_src.diagnosis.remedies.steps import PASSES, UNIT_NS, Launched
from workflow_src.diagnosis.replay import largest, replay

CLOSE = 0.0005
"""The share of a phase's time to which the host's is solved for."""

SETS_PACE = 0.85
"""The device sets the pace if with the fastest host known a phase takes this share of its time."""

LAUNCH_BOUND = 0.7
"""A pass is launch-bound if its device time is less than this share of the host's."""

GAP_NS = 1_500
"""Between two kernels of a stream, each launched by itself (1.3 to 1.9 us, examples/h200 of
6a6a4d6)."""

USUAL_NS = Span(5_000.0, 15_000.0, 35_000.0)
"""The host's time for a launch where no case of the run is launch-bound: what those of
examples/h100 and examples/h200 of 6a6a4d6 show, whose hosts differ by so much."""

SLOWEST = 2.0
"""No host launches in more than so many times the most that launch-bound cases show."""

Hosts = Mapping[str, Span]
"""The host's own time for a launch (ns), by pass."""


class Solved(NamedTuple):
    """What a phase tells of its last pass.

    host_ns: the host's time for a launch that gives the plain time, at most; launch_bound: whether
    the pass's device time is a small share of what the host then takes to launch it.
    """

    host_ns: float
    launch_bound: bool


def with_host(
    step: Launched, hosts: Mapping[str, float], gap_ns: float = GAP_NS, times: float = 1.0
) -> Edit:
    """The edit by which launches take the host so long (ns), by pass.

    Kernels have gap_ns between them, which counts as theirs, and take `times` as long.
    """
    factor = times * (1 + gap_ns / np.maximum(step.recording.columns["work.end_ns"], 1))
    passes = [step.of("pass", name) for name in PASSES]
    host_ns = np.select(passes, [hosts[name] for name in PASSES])[step.row]
    every = np.arange(len(factor))
    return Edit(every, every, gap_factor=host_ns / UNIT_NS, factor=factor)


def time_ns(step: Launched, hosts: Mapping[str, float]) -> float:
    """What a step takes with such a host."""
    return replay(step.recording, [with_host(step, hosts)]).step_ns


def solved(step: Launched, plain_ms: float, earlier: Mapping[str, float], last: str) -> Solved:
    """The host's time for a launch of the `last` pass, at most; of `earlier` ones it is known."""
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
    unsure_ms: float,
) -> Span:
    """The host's time for a launch (ns), by what gives the plain time.

    usual: of one in the run's launch-bound cases; unsure_ms: how far the difference of two phases'
    plain times may be off.
    """
    most, usual = solution.host_ns, usual or USUAL_NS
    if most <= usual.least and not solution.launch_bound:
        return Span(0.0, most, most)
    slow, fast = (time_ns(step, {**earlier, last: each}) for each in (most, usual.least))
    if most <= usual.least or fast < SETS_PACE * slow:
        unsure_ns = unsure_ms * NS_PER_MS / max(1, len(step.where(step.of("pass", last))))
        return Span(max(0.0, most - unsure_ns), most, most + unsure_ns)
    most = min(most, SLOWEST * usual.most)
    return Span(usual.least, min(most, usual.usual), most)


def unsure_ms(ends_ms: Sequence[tuple[float, float]]) -> float:
    """How far the difference of plain times may be off, from how far the steps of each vary."""
    return float(np.hypot.reduce([(most - least) / 2 for least, most in ends_ms]))
