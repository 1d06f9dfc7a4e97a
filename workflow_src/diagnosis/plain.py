"""The recorded step without its profiler: the host sped up until a step takes its known time."""

from workflow_src.common.errors import TraceError
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.changes import ScaleHost
from workflow_src.diagnosis.replay import replay
from workflow_src.diagnosis.step import Recording

SLOWEST = 4.0
"""No host is so many times slower without a profiler than under it."""

CLOSE = 0.002
"""The share of a step's time to which the factor is solved for."""

USUAL = 0.95
"""Of the gaps between calls: longer ones hold more than a call's share of the profiler's time."""


def plain(recording: Recording, plain_ns: float) -> ScaleHost:
    """The change by which a step takes plain_ns, its time without a profiler.

    Where the device sets the pace, many factors do; it is the largest of them. The time of a step
    grows with the factor, so that bisection finds it.

    Raises TraceError if a step takes longer than plain_ns even without the host's time.
    """
    gaps = recording.calls.loc[~recording.calls["beside"], "gap_ns"]
    limits = [int(gaps.quantile(share)) for share in (USUAL, 1)]
    longest, enough = limits[-1], plain_ns * (1 + CLOSE)
    fastest = {limit: replay(recording, [ScaleHost(0, limit)]).step_ns for limit in limits}
    if fastest[longest] > enough:
        raise TraceError(
            f"a plain step of {plain_ns / NS_PER_MS:.2f} ms can't be of this program: its recorded "
            f"work takes {fastest[longest] / NS_PER_MS:.2f} ms however fast the host is"
        )
    up_to = next(limit for limit in limits if fastest[limit] <= enough)
    low, high = 0.0, SLOWEST
    while high - low > CLOSE / 2:
        middle = (low + high) / 2
        takes = replay(recording, [ScaleHost(middle, up_to)]).step_ns
        low, high = (middle, high) if takes <= enough else (low, middle)
    return ScaleHost(low, up_to)
