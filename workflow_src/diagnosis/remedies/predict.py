"""The time of a plain step with remedies, by replay, with its interval (docs/replay.md)."""

from collections.abc import Mapping, Sequence
from math import hypot

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.common.remedies import GRAPH
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Edit, Plan
from workflow_src.diagnosis.remedies.effects import COMPILE, EFFECTS
from workflow_src.diagnosis.remedies.rates import About
from workflow_src.diagnosis.remedies.steps import UNIT_NS
from workflow_src.diagnosis.replay import changed, replay, replayed

LAUNCH_BOUND = 0.85
"""The host's launches of a pass set the pace if without them its phase takes less than this share
of its time."""

GAP_NS = 1_500
"""Between two kernels of a stream (1.3 to 1.9 us, examples/h200 of 6a6a4d6)."""

REPEATED, CHANGED_UNSURE, REMOVED_UNSURE, HOST_UNSURE = 0.03, 0.4, 0.09, 0.6
"""How unsure a time is, as shares of it, of the device's work that a remedy changes, of that which
goes, and of the host's time: so wide that 74 of the 79 comparisons with examples/h100 on which
rules were made lie inside (benchmarks/README.md)."""

COMPILED_UNSURE = 0.75
"""The kernels of compiled code take half to twice the time that is predicted."""


def host_of(about: About, earlier: Mapping[str, float], last: str) -> tuple[float, bool]:
    """The host's time (ns) for a launch of the `last` pass that gives the plain time, by that of
    earlier passes, at most, and whether it sets the pace: each launch must come before the work
    that then is left."""
    step, plain_ns = about.step, about.plain_ms * NS_PER_MS
    left_ns = np.cumsum((step.recording.columns["work.end_ns"] + GAP_NS)[::-1])[::-1]
    without_ns = np.cumsum(step.by_launch(earlier)) + left_ns
    nth = np.cumsum(step.by_launch({last: 1.0}))
    most = float(((plain_ns - without_ns)[nth > 0] / nth[nth > 0]).min(initial=plain_ns))
    return max(0.0, most), float(without_ns.max()) < LAUNCH_BOUND * plain_ns


def predicted(about: About, remedies: Sequence[str]) -> tuple[float, float, float]:
    """The time (ms) with remedies, in their order, between the ends of its 95 % interval.

    Raises NotKnownError if the effect of one can't be told.
    """
    recording, plain_ns = about.step.recording, about.plain_ms * NS_PER_MS
    # What host and device together don't explain of it is put on both alike; a graph's kernels keep
    # their own time, if that isn't longer.
    if GRAPH in remedies:
        device_ns = float((recording.columns["work.end_ns"] + GAP_NS).sum())
        plain = _edit(about, min(1.0, plain_ns / device_ns), about.graph_gap_ns)
    else:
        scale = plain_ns / replay(recording, [_edit(about, 1.0, GAP_NS)]).step_ns
        plain = _edit(about, scale, GAP_NS)
    plan = changed(recording, [plain])
    before_ns = plan.duration_ns.copy()
    for remedy in remedies:
        EFFECTS[remedy](about, plan, remedies)
    ms = replayed(plan).step_ns / NS_PER_MS
    times = 1 + _unsure_ms(plan, before_ns, ms, COMPILE in remedies) / ms
    return ms / times, ms, ms * times


def _edit(about: About, scale: float, gap_ns: float) -> Edit:
    """The edit by which launches take the host its time, and kernels have gap_ns between them,
    which counts as theirs; both scaled."""
    work_ns = about.step.recording.columns["work.end_ns"]
    host_ns, every = about.step.by_launch(about.host_ns), np.arange(len(work_ns))
    factor = scale * (1 + gap_ns / np.maximum(work_ns, 1))
    return Edit(every, every, gap_factor=scale * host_ns / UNIT_NS, factor=factor)


def _unsure_ms(plan: Plan, plain_ns: Indices, ms: float, compiled: bool) -> float:
    """By how much a time may be longer; plain_ns: of the device's work without remedies."""
    device_ns = plan.duration_ns[~plan.dropped]
    changed_ns = device_ns[device_ns != plain_ns[~plan.dropped]].sum()
    device_ms, changed_ms, removed_ms, launching_ms = (
        float(ns) / NS_PER_MS
        for ns in (device_ns.sum(), changed_ns, plain_ns.sum() - device_ns.sum(), plan.gap_ns.sum())
    )
    # Either the device waits for a host that may be slower, or it would.
    host_ms = max(HOST_UNSURE * (ms - device_ms), (1 + HOST_UNSURE) * launching_ms - ms, 0.0)
    return hypot(
        REPEATED * ms,
        (COMPILED_UNSURE if compiled else CHANGED_UNSURE) * changed_ms,
        REMOVED_UNSURE * removed_ms,
        host_ms,
    )
