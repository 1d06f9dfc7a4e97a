"""The change of one time of one phase between two runs, and the verdict on it."""

import math
from dataclasses import dataclass
from enum import StrEnum

from workflow_src.answers.tables import CaseKey

PLAIN_BEYOND = 0.01
"""Smaller changes of plain time don't matter, unless another threshold is given."""

DEVICE_BEYOND = 0.02
"""Device time counts as changed beyond this share, or the threshold if that is larger.

A capture is one process, and device time repeats within 1 % from process to process and from host
to host (benchmarks/README.md); twice that is no chance.
"""


class Verdict(StrEnum):
    """What is said of a change; B against A."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no difference shown"
    UNKNOWN = "can't tell"


class Why(StrEnum):
    """Why nothing can be told of a plain time."""

    ONE = "one process"
    FEW = "too few processes"
    HOST = "launch-bound, and the host's speed changed"
    DEVICE = "the device was shared or throttled"
    SPREAD = "processes vary too much"


class Kind(StrEnum):
    """Which time of a phase, or of a captured step, it is."""

    DEVICE = "device time"
    REPLAY = "as a CUDA graph"
    PLAIN = "plain time"
    STEP = "from step to step, under the profiler"


OF_PHASES = (Kind.DEVICE, Kind.REPLAY, Kind.PLAIN)
"""The times of a phase of a case; a step of a capture has another."""


@dataclass(frozen=True)
class Change:
    """Two times (ms) of a phase, of A and of B, and what their ratio B / A shows.

    `low` and `high` are the ends of the ratio's interval and `p` is the rank test's, corrected for
    the number of tests; all are NaN where nothing gives them.
    """

    kind: Kind
    a_ms: float
    b_ms: float
    verdict: Verdict
    why: Why | None = None
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    processes: tuple[int, int] = (1, 1)

    @property
    def ratio(self) -> float:
        """B / A."""
        return self.b_ms / self.a_ms


@dataclass(frozen=True)
class PhaseChange:
    """All changes of a phase of a case that ran in both runs.

    `working` is the least share of the plain time in which the device works, in A or B; NaN where
    it wasn't captured.
    """

    case: CaseKey
    phase: str
    working: float
    device: Change | None
    replay: Change | None
    plain: Change | None

    @property
    def changes(self) -> tuple[Change, ...]:
        """Those that are there, what travels best first."""
        return tuple(each for each in (self.device, self.replay, self.plain) if each)

    @property
    def decisive(self) -> Change | None:
        """The change that decides: slower before faster before the same; None without any."""
        order = list(Verdict)
        return min(self.changes, key=lambda each: order.index(each.verdict), default=None)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the phase."""
        return self.decisive.verdict if self.decisive else Verdict.UNKNOWN


def apart(
    kind: Kind,
    a: tuple[float, float, float],
    b: tuple[float, float, float],
    threshold: float,
) -> Change:
    """The change of work that the host doesn't decide, each given as its least, median and most.

    Slower or faster: one run's range lies beyond the other's, and the medians differ by more than
    DEVICE_BEYOND or, if that is more, `threshold`.
    """
    ratio, beyond = b[1] / a[1], 1 + max(DEVICE_BEYOND, threshold)
    verdict = Verdict.SAME
    if b[0] > a[2] and ratio > beyond:
        verdict = Verdict.SLOWER
    if b[2] < a[0] and ratio < 1 / beyond:
        verdict = Verdict.FASTER
    return Change(kind, a[1], b[1], verdict)
