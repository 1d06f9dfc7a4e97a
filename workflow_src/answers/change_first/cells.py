"""How savings are printed: predicted ones with a sign before them, those of one process marked.

In a case's table, which has room, words and the number of processes say the same.
"""

from collections.abc import Sequence

from workflow_src.answers.change_first.saving import Choice, Saving, rank
from workflow_src.answers.intervals import Interval
from workflow_src.answers.marks import ALONE
from workflow_src.paper.value import Cell, Joined, Marked, Ranged, Rounded, computed, count, median

PREDICTED = "\N{ALMOST EQUAL TO}"
"""Stands before what the model predicts."""

NOTHING_SURE = "no sure saving"
UNDECIDED = "undecided:"

AT_MOST = 3
"""So many are named where it is undecided which comes first; all are in the case's own table."""


def name(saving: Saving) -> str:
    """Its remedies, as in the tables' columns."""
    return "+".join(saving.remedies)


def told(saving: Saving) -> str:
    """Its remedies, with the sign of predictions where it is one."""
    return name(saving) if saving.measured else f"{PREDICTED} {name(saving)}"


def signed(saving: Saving, cell: Cell) -> Cell:
    """A cell of a saving with its sign or mark."""
    marked = Marked(cell, ALONE) if saving.alone else cell
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
    return Joined((name(saving), signed(saving, saving.share.middle)), " ")


def first(choice: Choice) -> Cell:
    """What comes first, or what may, at most AT_MOST; None if nothing surely saves anything."""
    if not choice.contenders:
        return None
    said: list[Cell] = [share(each) for each in choice.contenders[:AT_MOST]]
    if others := choice.contenders[AT_MOST:]:
        more = count((each.share.middle for each in others), "others that may come first")
        said.append(Joined((more, "more"), " "))
    shares = Joined(tuple(said), " or ")
    return Joined((UNDECIDED, shares), " ") if len(choice.contenders) > 1 else shares


def best(choice: Choice, headed: str = "") -> Cell:
    """The best combination with its share and its time; None where one remedy alone is the best.

    Its name is left out if it is the one that the cell is `headed` by. A predicted one has no mark
    of one process: the digits of its time say how far it is known.
    """
    found = choice.best
    if found is None or found.single:
        return None
    middle = found.share.middle
    saved = signed(found, middle) if found.measured else of_several([found], middle)
    saved = saved if name(found) == headed else Joined((name(found), saved), " ")
    return Joined((saved, Joined((_of_its_moment(found, rounded(found.time)), "ms"), " ")), ", ")


def whole(saving: Saving | None) -> Cell:
    """How a time is known, the time with its interval, of how many processes, the share saved.

    Of a measured time also what was predicted: "measured 25.1 (24.9 to 25.4), n = 3; 50 %;
    ≈ 24.8 (22.9 to 26.6)".
    """
    if saving is None:
        return None
    known, guess = "measured" if saving.measured else "predicted", saving.predicted
    time = Joined((known, _of_its_moment(saving, ranged(saving.time))), " ")
    number = computed(saving.processes, "count", "processes", saving.time.middle)
    counted = saving.measured and saving.processes
    told: list[Cell] = [
        Joined((time, Joined(("n = ", number), "")), ", ") if counted else time,
        saving.share.middle,
    ]
    if guess:
        told.append(Joined((PREDICTED, ranged(guess)), " "))
    return Joined(tuple(told), "; ")


def _of_its_moment(saving: Saving, time: Cell) -> Cell:
    """A time; beside one of a study, the plain time of the same minutes."""
    return Joined((time, saving.plain), " left of ") if saving.studied else time


def ranged(interval: Interval) -> Ranged:
    """An interval as "5.1 (5.0 to 5.2)"."""
    return Ranged(interval.middle, interval.low, interval.high)


def rounded(interval: Interval) -> Rounded:
    """The middle of an interval, with the digits that the interval earns."""
    return Rounded(interval.middle, interval.low, interval.high)


def by_remedy(phases: Sequence[Sequence[Saving]]) -> list[list[Cell]]:
    """A line per remedy or combination: its name, and of the savings of each phase all of its."""
    known = [{each.remedies: each for each in savings} for savings in phases]
    every = dict.fromkeys(remedies for phase in known for remedies in phase)
    return [
        [f"with {'+'.join(remedies)}", *(whole(phase.get(remedies)) for phase in known)]
        for remedies in sorted(every, key=rank)
    ]
