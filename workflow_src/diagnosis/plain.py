"""The recorded step without its profiler: the host sped up until a step takes its known time."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import AFTER_ALL, Indices
from workflow_src.common.thresholds import REPLAYED_WITHIN
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Recording, ScaleHost, Span
from workflow_src.diagnosis.replay import largest, replay

CLOSE = 0.002
"""A step may take longer than its plain time by this share."""

NOISE = 0.15
"""Steps of one program differ by so much between two runs, by their copies and by their host."""


WITHOUT_PROFILER = {"nsys": Span(0.40, 0.58, 0.8), "torch": Span(0.29, 0.41, 0.65)}
"""The host's time without each over that with it, of 13 recorded loops of benchmarks/planted in
which launches set the pace: the most is rounded."""

UNKNOWN = Span(0.0, 1.0, 1.0)

USUAL = 0.95
"""Of the gaps between calls: longer ones hold more than a call's share of the profiler's time."""


def plain(
    recording: Recording,
    plain_ns: float,
    running_ns: int | Indices = AFTER_ALL,
    share: Span = UNKNOWN,
) -> ScaleHost:
    """The change by which a step takes plain_ns, its time without a profiler.

    A profiler makes nothing faster, so the factor is at most 1: also of a plain step that took
    longer. Where the device sets the pace, many factors give its time, and the largest is taken, at
    most that of `share`; where none does but the noise between runs would, the host's time stays as
    recorded. The time of a step grows with the factor, so that bisection finds it. running_ns: of
    each gap the time in which the host ran, if that is known. The rest isn't scaled, unless even a
    host as fast as any doesn't reach plain_ns: then the profiler let the host lose its turn more
    often, the host is as fast as usual, and the rest is what plain_ns leaves.

    Raises TraceError if a step takes much longer than plain_ns even without the host's time.
    """
    gaps = recording.calls.loc[~recording.calls["beside"], "gap_ns"]
    running = pd.Series(np.minimum(recording.columns["calls.gap_ns"], running_ns))[gaps.index]
    enough = plain_ns * (1 + CLOSE)

    def takes(change: ScaleHost, **more: Any) -> float:
        return replay(recording, [replace(change, **more)]).step_ns

    first = ScaleHost(0, int(running.quantile(USUAL)), running_ns)
    if takes(first, factor=share.least) > enough:
        usual = replace(first, factor=share.usual)
        if takes(usual, held=0.0) <= enough:
            return replace(usual, held=largest(lambda held: takes(usual, held=held), 1.0, enough))
    more = (ScaleHost(0, int(longest)) for longest in (gaps.quantile(USUAL), gaps.max()))
    for fastest in (first, *more):
        if (least_ns := takes(fastest)) <= enough:
            break
    else:
        if least_ns <= plain_ns * (1 + NOISE):
            return replace(fastest, factor=1)
        raise TraceError(
            f"a plain step of {plain_ns / NS_PER_MS:.2f} ms can't be of this program: what was "
            f"recorded takes {least_ns / NS_PER_MS:.2f} ms however fast the host is"
        )
    # The most, if by it a step takes as long, within what replays are off by; if even without any
    # host time it does, how near the times are tells nothing of the host.
    longest_ns = min(takes(fastest, factor=1.0), enough)
    slowest_ns = takes(fastest, factor=share.most)
    most = share.most if slowest_ns >= (1 - REPLAYED_WITHIN) * longest_ns else 1.0
    if most == share.most and slowest_ns <= (1 + REPLAYED_WITHIN) * least_ns:
        return replace(fastest, factor=most)
    factor = largest(lambda factor: takes(fastest, factor=factor), most, enough)
    return replace(fastest, factor=factor)
