"""What was timed both in full precision and under bf16 autocast."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from workflow_src.common import words
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.value import Cell, Marked, Rounded, Value, ratio
from workflow_src.studies.lines import PERCENTILES, Line, differ, where
from workflow_src.studies.precision.points import AUTOCAST

SCORES = "scores"
MEASUREMENTS = {
    "forward": words.PHASES["forward"],
    "forward_backward": words.PHASES["forward_backward"],
    SCORES: "attention scores alone",
}
"""What was timed, in words; all but SCORES are of a model."""


@final
@dataclass(frozen=True)
class Pair:
    """One measurement of one size: how many times as fast it is under autocast as in full."""

    full: Line
    autocast: Line
    speedup: Value

    @property
    def against(self) -> str:
        """The full precision."""
        return self.full.text("precision")

    @property
    def apart(self) -> bool:
        """Whether the two times differ by more than their samples do."""
        return differ(self.full, self.autocast, PERCENTILES)

    @property
    def printed(self) -> Cell:
        """The speed-up with the digits that the samples of both earn; two where it waits."""
        if self.waits:
            return self.speedup
        (low, high), (least, most) = (
            [line.value(end, "ms") for end in PERCENTILES] for line in (self.full, self.autocast)
        )
        ends = ratio(low, most, "times"), ratio(high, least, "times")
        return Marked(Rounded(self.speedup, *ends), " x")

    @property
    def size(self) -> str:
        """The model's size."""
        return self.autocast.text("size")

    @property
    def measurement(self) -> str:
        """What was timed: a key of MEASUREMENTS."""
        return self.autocast.text("measurement")

    @property
    def busy(self) -> Value | None:
        """The share of the step under autocast in which a GPU works; None on a CPU."""
        on_cpu = self.autocast.text("device") == "cpu"
        return None if on_cpu else self.autocast.value("busy_share", "share", "device / median")

    @property
    def waits(self) -> bool:
        """Whether a GPU isn't known to work for WORKING_FULLY of the step under autocast.

        Samples of one process then don't decide: processes differ by more.
        """
        on_cpu = self.autocast.text("device") == "cpu"
        return not on_cpu and (self.busy is None or self.busy.number < WORKING_FULLY)

    @property
    def name(self) -> str:
        """In words: "medium, forward, over tf32"."""
        return f"{self.size}, {MEASUREMENTS[self.measurement]}, over {self.against}"


def pairs(speed: Iterable[Line]) -> list[Pair]:
    """A pair for each line under autocast and each full precision in which the same was timed."""
    timed = [line for line in speed if line.ok and line.text("measurement") in MEASUREMENTS]
    casts = {_timed(line): line for line in reversed(where(timed, precision=AUTOCAST))}
    found = []
    for full in timed:
        if full.text("precision") != AUTOCAST and (cast := casts.get(_timed(full))):
            times = full.value("median_ms", "ms"), cast.value("median_ms", "ms")
            if speedup := ratio(*times, "times", "full precision / autocast"):
                found.append(Pair(full, cast, speedup))
    return found


def _timed(line: Line) -> tuple[str, str]:
    return line.text("size"), line.text("measurement")
