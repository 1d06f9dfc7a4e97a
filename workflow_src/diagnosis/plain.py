"""The recorded step without its profiler: the host sped up until a step takes its known time."""

from dataclasses import replace

import pandas as pd

from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.common.thresholds import REPLAYED_WITHIN
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.changes import ScaleHost
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.replay import replay

CLOSE = 0.002
"""The share of a step's time to which the factor is solved for."""

NOISE = 0.15
"""Steps of one program differ by so much between two runs, by their copies and by their host."""

WITHOUT_PROFILER = {"nsys": 0.8, "torch": 0.65}
"""The host's time without a profiler over that with it, at most: of 13 recorded loops of
benchmarks/planted in which launches set the pace, by profiler (0.40 to 0.81 with a median of 0.58;
0.29 to 0.64 with one of 0.41)."""

USUAL = 0.95
"""Of the gaps between calls: longer ones hold more than a call's share of the profiler's time."""


def plain(
    recording: Recording,
    plain_ns: float,
    running_ns: Indices | None = None,
    slowest: float = 1.0,
) -> ScaleHost:
    """The change by which a step takes plain_ns, its time without a profiler.

    A profiler makes nothing faster, so the factor is at most 1: also of a plain step that took
    longer. Where the device sets the pace, many factors give its time, and the largest is taken, at
    most `slowest`; where none does but the noise between runs would, the host's time stays as
    recorded. The time of a step grows with the factor, so that bisection finds it. running_ns: of
    each gap the time in which the host ran, if that is known; the rest isn't scaled, unless
    plain_ns can't be reached.

    Raises TraceError if a step takes much longer than plain_ns even without the host's time.
    """
    own = ~recording.calls["beside"]
    gaps = recording.calls.loc[own, "gap_ns"]
    running = gaps if running_ns is None else pd.Series(running_ns)[own]
    enough = plain_ns * (1 + CLOSE)
    for fastest in (
        ScaleHost(0, int(running.quantile(USUAL)), running_ns),
        ScaleHost(0, int(gaps.quantile(USUAL))),
        ScaleHost(0, int(gaps.max())),
    ):
        takes = replay(recording, [fastest]).step_ns
        if takes <= enough:
            return _solved(recording, fastest, enough, slowest)
    if takes <= plain_ns * (1 + NOISE):
        return replace(fastest, factor=1)
    raise TraceError(
        f"a plain step of {plain_ns / NS_PER_MS:.2f} ms can't be of this program: what was "
        f"recorded takes {takes / NS_PER_MS:.2f} ms however fast the host is"
    )


def _solved(recording: Recording, fastest: ScaleHost, enough: float, slowest: float) -> ScaleHost:
    """The same with the largest factor by which a step takes at most so long (ns).

    Or `slowest`, if that is less and by it a step takes as long, within what replays are off by.
    """

    def takes(factor: float) -> float:
        return replay(recording, [replace(fastest, factor=factor)]).step_ns

    longest = min(takes(1.0), enough)
    as_long = takes(slowest) >= (1 - REPLAYED_WITHIN) * longest
    low, high = 0.0, slowest if as_long else 1.0
    if takes(high) <= enough:
        return replace(fastest, factor=high)
    while high - low > CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if takes(middle) <= enough else (low, middle)
    return replace(fastest, factor=low)
