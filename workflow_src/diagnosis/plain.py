"""The recorded step without its profiler: the host sped up until a step takes its known time."""

from functools import partial

from workflow_src.common.errors import TraceError
from workflow_src.common.thresholds import REPLAYED_WITHIN
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Recording, ScaleHost
from workflow_src.diagnosis.replay import largest, replay

CLOSE = 0.002
"""A step may take longer than its plain time by this share."""

NOISE = 0.15
"""Steps of one program differ by so much between two runs."""

WITHOUT_PROFILER = {"nsys": 0.8, "torch": 0.65}
"""The host's time without each over that with it, at most: rounded, of 13 recorded loops of
benchmarks/planted in which launches set the pace."""

USUAL = 0.95
"""Quantile of the gaps: longer ones hold more than a call's share of the profiler's time."""


def plain(recording: Recording, plain_ns: float, most: float = 1.0) -> ScaleHost:
    """The change by which a step takes plain_ns, its time without a profiler (docs/replay.md).

    most: the share of the host's time that is left, at most, unless a step then is too short. If
    a step takes longer even without the host's time, but by no more than NOISE, that stays as
    recorded; if by more, raises TraceError.
    """
    gaps = recording.calls.loc[~recording.calls["beside"], "gap_ns"]
    enough = plain_ns * (1 + CLOSE)

    def takes(up_to_ns: int, factor: float) -> float:
        return replay(recording, [ScaleHost(factor, up_to_ns)]).step_ns

    for up_to_ns in (int(gaps.quantile(USUAL)), int(gaps.max())):
        if (least_ns := takes(up_to_ns, 0)) <= enough:
            break
    else:
        if least_ns <= plain_ns * (1 + NOISE):
            return ScaleHost(1, up_to_ns)
        raise TraceError(
            f"a plain step of {plain_ns / NS_PER_MS:.2f} ms can't be of this program: what was "
            f"recorded takes {least_ns / NS_PER_MS:.2f} ms however fast the host is"
        )
    # The most, if by it a step takes as long, within what replays are off by; if it does even
    # without any host time, the times tell nothing of the host.
    slowest_ns = takes(up_to_ns, most)
    known = slowest_ns >= (1 - REPLAYED_WITHIN) * min(takes(up_to_ns, 1), enough)
    most = most if known else 1.0
    hidden = known and slowest_ns <= (1 + REPLAYED_WITHIN) * least_ns
    factor = most if hidden else largest(partial(takes, up_to_ns), most, enough)
    return ScaleHost(factor, up_to_ns)
