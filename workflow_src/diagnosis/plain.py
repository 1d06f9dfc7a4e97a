"""The recorded step without its profiler: the host sped up until a step takes its known time."""

from workflow_src.common.errors import TraceError
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.changes import ScaleHost
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.replay import replay

CLOSE = 0.002
"""The share of a step's time to which the factor is solved for."""

NOISE = 0.15
"""Steps of one program differ by so much between two runs, by their copies and by their host."""

USUAL = 0.95
"""Of the gaps between calls: longer ones hold more than a call's share of the profiler's time."""


def plain(recording: Recording, plain_ns: float) -> ScaleHost:
    """The change by which a step takes plain_ns, its time without a profiler.

    A profiler makes nothing faster, so the factor is at most 1: also of a plain step that took
    longer. Where the device sets the pace, many factors give its time, and the largest is taken;
    where none does but the noise between runs would, the host's time stays as recorded. The time of
    a step grows with the factor, so that bisection finds it.

    Raises TraceError if a step takes much longer than plain_ns even without the host's time.
    """
    gaps = recording.calls.loc[~recording.calls["beside"], "gap_ns"]
    enough = plain_ns * (1 + CLOSE)
    for up_to in (int(gaps.quantile(USUAL)), int(gaps.max())):
        fastest = replay(recording, [ScaleHost(0, up_to)]).step_ns
        if fastest <= enough:
            return _solved(recording, up_to, enough)
    if fastest <= plain_ns * (1 + NOISE):
        return ScaleHost(1, up_to)
    raise TraceError(
        f"a plain step of {plain_ns / NS_PER_MS:.2f} ms can't be of this program: what was "
        f"recorded takes {fastest / NS_PER_MS:.2f} ms however fast the host is"
    )


def _solved(recording: Recording, up_to: int, enough: float) -> ScaleHost:
    """The ScaleHost of the largest factor by which a step takes at most so long (ns)."""
    low, high = 0.0, 1.0
    if replay(recording).step_ns <= enough:
        return ScaleHost(1, up_to)
    while high - low > CLOSE:
        middle = (low + high) / 2
        takes = replay(recording, [ScaleHost(middle, up_to)]).step_ns
        low, high = (middle, high) if takes <= enough else (low, middle)
    return ScaleHost(low, up_to)
