"""How savings are printed: predicted ones with a sign before them, and marks of doubts behind.

In a case's table, which has room, words and the number of processes say the same.
"""

from collections.abc import Sequence
from itertools import groupby

from workflow_src.answers.change_first.saving import (
    NO_TRAINING,
    Choice,
    Saving,
    candidates,
    rank,
)
from workflow_src.answers.intervals import Interval
from workflow_src.answers.marks import ALONE, CAPPED
from workflow_src.paper.value import Cell, Joined, Marked, Ranged, Rounded, computed, count, median

PREDICTED = "\N{ALMOST EQUAL TO}"
"""Stands before what the model predicts."""

LEFT_OF = "left of"
"""Stands between a time and the plain one of the same minutes, both of a study."""

NOTHING_SURE, NOTHING_TRAINS = "none by its interval", "none that trains"

AT_MOST = 3
"""So many are named where it is undecided which comes first; all are in the case's own table."""


def signed(saving: Saving, cell: Cell) -> Cell:
    """A cell of a saving with its sign and its marks."""
    marks = ALONE * saving.alone + CAPPED * saving.known.capped
    marked = Marked(cell, marks) if marks else cell
    return marked if saving.measured else Joined((PREDICTED, marked), " ")


def of_several(savings: Sequence[Saving], cell: Cell) -> Cell:
    """A cell of several savings, with the sign of predictions if one of them is such."""
    guessed = any(not each.measured for each in savings)
    return Joined((PREDICTED, cell), " ") if guessed else cell


def middle(savings: Sequence[Saving]) -> Cell:
    """The median share of some savings."""
    return of_several(savings, median(each.share.middle for each in savings))


def share(saving: Saving) -> Cell:
    """Its remedies and the share that they save."""
    return Joined((saving.name, signed(saving, saving.share.middle)), " ")


def first(choice: Choice, why: Cell = None) -> Cell:
    """What comes first, or what may, at most AT_MOST; None if nothing saves by its interval.

    The first has the part that it shortens behind it. Where a share is of a study's plain time, all
    have theirs.
    """
    if not choice.contenders:
        return None
    named = choice.contenders[:AT_MOST]
    apart = any(each.known.studied for each in named)
    said: list[Cell] = [
        Joined((share(each), " of ", each.plain, " ms"), "") if apart else share(each)
        for each in named
    ]
    said[0] = Joined((said[0], " (", why, ")"), "") if why else said[0]
    if others := choice.contenders[AT_MOST:]:
        more = count((each.share.middle for each in others), "others that may come first")
        said.append(Joined((more, "more"), " "))
    return Joined(tuple(said), " or ")


def nothing(savings: Sequence[Saving]) -> str:
    """Why nothing comes first of what is known."""
    return NOTHING_SURE if candidates(savings) else NOTHING_TRAINS


def best(choice: Choice) -> Cell:
    """The best combination with its share; None where one remedy alone is the best."""
    found = choice.best
    if found is None or found.single:
        return None
    return Joined((found.name, _of_best(found, found.share.middle)), " ")


def best_range(choice: Choice, headed: str) -> Cell:
    """The best combination with the ends of the share that it may save.

    Its name is left out if it is the one that the cell is `headed` by.
    """
    found = choice.best
    if found is None or found.single:
        return None
    saved = _of_best(found, Joined((found.share.low, found.share.high), "\N{EN DASH}"))
    named = saved if found.name == headed else Joined((found.name, saved), " ")
    return Joined((named, " of ", found.plain, " ms"), "") if found.known.studied else named


def _of_best(best: Saving, cell: Cell) -> Cell:
    """A predicted one has no mark of one process: its interval says how far it is known."""
    return signed(best, cell) if best.measured else of_several([best], cell)


def whole(saving: Saving) -> Cell:
    """How a time is known, the time with its interval, of how many processes, the share saved.

    Of a measured time also what was predicted, but of a study's, whose own tables say so:
    "measured 25.1 (24.9 to 25.4), n = 3; 50 %; ≈ 24.8 (22.9 to 26.6)".
    """
    known, how = "measured" if saving.measured else "predicted", saving.known
    ends = Ranged(left(saving), saving.time.low, saving.time.high)
    time = Joined((known, _of_its_moment(saving, ends)), " ")
    number = computed(how.processes, "count", "processes", saving.time.middle)
    counted = saving.measured and how.processes
    share = saving.share.middle
    told: list[Cell] = [
        Joined((time, Joined(("n = ", number), "")), ", ") if counted else time,
        Marked(share, CAPPED * how.capped + NO_TRAINING * (not saving.trains)),
    ]
    if (guess := saving.predicted) and not how.studied:
        told.append(Joined((PREDICTED, Ranged(_rounded(guess), guess.low, guess.high)), " "))
    return Joined(tuple(told), "; ")


def _of_its_moment(saving: Saving, time: Cell) -> Cell:
    """A time; beside one of a study, the plain time of the same minutes."""
    return Joined((time, LEFT_OF, saving.plain), " ") if saving.known.studied else time


def left(saving: Saving) -> Cell:
    """The time with the remedies; a predicted one with the digits that its interval earns."""
    return saving.time.middle if saving.measured else _rounded(saving.time)


def _rounded(interval: Interval) -> Rounded:
    return Rounded(interval.middle, interval.low, interval.high)


def by_remedy(phases: Sequence[Sequence[Saving]]) -> list[list[Cell]]:
    """A line per remedy or combination: its name, and of the savings of each phase all of its."""
    every = sorted((each for savings in phases for each in savings), key=rank)
    return [
        [f"with {'+'.join(remedies)}", *(_wholes(savings, remedies) for savings in phases)]
        for remedies, _ in groupby(every, key=lambda each: each.remedies)
    ]


def _wholes(savings: Sequence[Saving], remedies: tuple[str, ...]) -> Cell:
    """All that is known of some remedies: of a graph that trains, and of one that doesn't."""
    said = [whole(each) for each in savings if each.remedies == remedies]
    return Joined(tuple(said), "; ") if said else None
