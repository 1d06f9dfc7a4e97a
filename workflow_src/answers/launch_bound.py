"""Which phases are launch-bound: those of little device time per launch.

A launch costs the host about the same whatever it starts, so whether the device waits for it is a
matter of how long it takes. Where that limit lies depends on the host; a run tells its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from workflow_src.answers.kernels import calls
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.common.case import PHASES
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW_NS, NEARLY_ALL_DEVICE
from workflow_src.common.units import NS_PER_US, US_PER_MS
from workflow_src.paper.value import Cell, Joined, Rounded, Value, computed, ratio

USUAL = Value(LAUNCH_BOUND_BELOW_NS / NS_PER_US, "us", ())

FEWEST_EACH = 10
"""A limit isn't derived from fewer phases that wait for launches, or fewer that don't."""


@dataclass(frozen=True)
class Limit:
    """The device time per launch, in us, below which a phase is launch-bound."""

    us: Value

    @property
    def origin(self) -> str:
        """Whether the run's own phases tell the limit, in words."""
        return "the usual limit" if self.us == USUAL else "fitted to this run"

    @property
    def told(self) -> Rounded:
        """The limit in two digits: other processes would tell it otherwise."""
        return Rounded(self.us)

    def bound(self, us_per_launch: Value | None) -> bool:
        """Whether a phase of so much device time per launch is launch-bound."""
        return us_per_launch is not None and us_per_launch.number < self.us.number


def launch_bound(tables: Tables, times: PhaseTimes) -> Cell:
    """Whether a phase is launch-bound, and by what: "yes; 6.37 / 31; 29 %".

    It is if its device time per launch is below the limit and the device waits. On a CPU, which
    launches nothing, only the share of the plain time is there.
    """
    us = us_per_launch(tables, times)
    if us is None or times.working is None:
        return us or times.working
    below = tables.cached("launch_bound_limit", partial(limit, tables))
    said = "yes" if below.bound(us) and times.waits else "no"
    return Joined((said, Joined((us, below.told), " / "), times.working), "; ")


def us_per_launch(tables: Tables, times: PhaseTimes) -> Value | None:
    """The device time per launch (kernel, copy or fill) of a phase, in us; None on a CPU."""
    if times.case.on_cpu or times.busy is None:
        return None
    launched = calls(tables.of("kernels", times.case.case, times.phase))
    each = ratio(times.busy, launched, "us")
    formula = "device time / kernels, copies and fills"
    return each and computed(each.number * US_PER_MS, "us", formula, each)


def limit(tables: Tables) -> Limit:
    """The limit of a run: what separates best the phases that the device nearly fills from others.

    The device nearly fills a phase if it works for NEARLY_ALL_DEVICE of the plain time or more. Of
    all limits between two phases next to each other in device time per launch (their geometric
    mean), the one is taken that puts fewest phases on the wrong side, the least of several. It is
    LAUNCH_BOUND_BELOW_NS where that puts as few there, or where the run has fewer than FEWEST_EACH
    phases of either kind.
    """
    every = (phase_times(tables, case, phase) for case in tables.cases for phase in PHASES)
    known = [(us, times.working) for times in every if (us := us_per_launch(tables, times))]
    return split([(us, working) for us, working in known if working])


def split(phases: Iterable[tuple[Value, Value]]) -> Limit:
    """The limit from (device time per launch, share of the plain time in which it works)."""
    ordered = sorted(phases, key=lambda phase: phase[0].number)
    waits = [working.number < NEARLY_ALL_DEVICE for _, working in ordered]
    wrong = [_wrong(waits, place) for place in range(len(ordered) + 1)]
    best = wrong.index(min(wrong))
    below_usual = sum(us.number < USUAL.number for us, _ in ordered)
    few = min(waits.count(True), waits.count(False)) < FEWEST_EACH
    if few or wrong[below_usual] == wrong[best] or best in (0, len(ordered)):
        return Limit(USUAL)
    below, above = (ordered[place][0].number for place in (best - 1, best))
    sources = [value for phase in ordered for value in phase]
    us = computed((below * above) ** 0.5, "us", "separates best the phases", *sources)
    return Limit(us or USUAL)


def _wrong(waits: Sequence[bool], place: int) -> int:
    """How many phases before a place don't wait, and from there on do."""
    return waits[:place].count(False) + waits[place:].count(True)
