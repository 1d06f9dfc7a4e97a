"""What remedies save of a phase: the time with them, the share saved, and how it is known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workflow_src.answers.intervals import Interval
from workflow_src.common.case import OPTIMIZERS, PHASES
from workflow_src.common.remedies import GRAPH, REMEDIES, counts_in_graph
from workflow_src.paper.value import Value, computed

NO_TRAINING = " (no training)"
"""Stands behind the name of what takes a time, but doesn't train."""


@dataclass(frozen=True)
class Known:
    """How a saving is known.

    measured: False where the step's model predicted it.
    processes: how many the fewest are behind a time of it; 0 where that isn't known. Of one, the
        interval of a measured time is the run's own spread between processes.
    capped: whether the driver lowered the clock for power while one of its times was taken.
    studied: whether a study timed both, at another moment than the case was timed.
    """

    measured: bool
    processes: int = 0
    capped: bool = False
    studied: bool = False


@dataclass(frozen=True)
class Saving:
    """What some remedies save of one phase.

    plain, time: in ms without and with the remedies.
    share: of the plain time that they save; below 0 where the phase takes longer.
    trains: False of a training step that doesn't.
    predicted: the time (ms) that the model predicts where it was measured, too.
    """

    remedies: tuple[str, ...]
    plain: Value
    time: Interval
    share: Interval
    known: Known
    trains: bool = True
    predicted: Interval | None = None

    @property
    def name(self) -> str:
        """Its remedies, as in the tables' columns, and whether it doesn't train."""
        return "+".join(self.remedies) + NO_TRAINING * (not self.trains)

    @property
    def measured(self) -> bool:
        """Whether it was measured, and not predicted."""
        return self.known.measured

    @property
    def relative(self) -> Interval:
        """The time over its plain time, by which savings of two moments compare."""
        times = (self.time.middle, self.time.low, self.time.high)
        return Interval(*(_over(each, self.plain) for each in times))

    @property
    def alone(self) -> bool:
        """Whether a time behind it is of one process."""
        return self.known.processes == 1

    @property
    def single(self) -> bool:
        """Whether it is of one remedy."""
        return len(self.remedies) == 1

    @property
    def sure(self) -> bool:
        """Whether even the low end of the interval is a saving."""
        return self.share.low.number > 0


def saving(remedies: Iterable[str], plain: Interval, time: Interval, known: Known) -> Saving | None:
    """What remedies save, from the times without and with them; None if a plain time isn't above 0.

    Its low end is of the slowest with them against the fastest without, its high end the opposite.
    """
    shares = (
        _share(plain.middle, time.middle),
        _share(plain.low, time.high),
        _share(plain.high, time.low),
    )
    middle, low, high = shares
    if middle is None or low is None or high is None:
        return None
    share = Interval(middle, low, high)
    return Saving(in_order(remedies), plain.middle, time, share, known)


def _over(time: Value, plain: Value) -> Value:
    return replace(time, number=time.number / plain.number, unit="times")


def _share(plain: Value, time: Value) -> Value | None:
    if not plain.number > 0:
        return None
    return computed(1 - time.number / plain.number, "saved", "1 - with / plain", time, plain)


def in_order(remedies: Iterable[str]) -> tuple[str, ...]:
    """Remedies in the order of REMEDIES, then those that only a study tried, by name; each once."""
    return tuple(sorted(set(remedies), key=_place))


def _place(remedy: str) -> tuple[int, str]:
    return (REMEDIES.index(remedy) if remedy in REMEDIES else len(REMEDIES), remedy)


def touching(remedies: Iterable[str], phase: str) -> tuple[str, ...]:
    """Those remedies that change a phase: an optimizer is no part of a forward or backward pass."""
    return tuple(each for each in remedies if phase == PHASES[-1] or each not in OPTIMIZERS)


def told_to_train(each: Saving, optimizer: str, phase: str) -> Saving:
    """A saving of a case with this optimizer, told whether it trains.

    A training step in a CUDA graph doesn't unless its optimizer counts there; the study levers ends
    a graph with backward where it doesn't.
    """
    last = next((name for name in each.remedies if name in OPTIMIZERS), optimizer)
    whole = phase == PHASES[-1] and GRAPH in each.remedies and not each.known.studied
    return replace(each, trains=not whole or counts_in_graph(last))


def merged(measured: Iterable[Saving], predicted: Iterable[Saving]) -> tuple[Saving, ...]:
    """Each combination once, those of fewer remedies first: the first that was measured counts.

    A prediction stands in only where nothing was measured, and beside the measured time elsewhere:
    not beside a study's, which has predictions of its own from its own plain time.
    """
    guessed: dict[str, Saving] = {}
    for each in predicted:
        guessed.setdefault(each.name, each)
    found: dict[str, Saving] = {}
    for each in measured:
        guess = None if each.known.studied else guessed.get(each.name)
        found.setdefault(each.name, replace(each, predicted=guess.time) if guess else each)
    return tuple(sorted((guessed | found).values(), key=rank))


def rank(saving: Saving) -> tuple[int, list[tuple[int, str]], bool]:
    """Where a saving stands in tables: fewer remedies first, then in the order of REMEDIES."""
    return len(saving.remedies), [_place(name) for name in saving.remedies], saving.trains


@dataclass(frozen=True)
class Choice:
    """What to change first in one phase, and the combination that saves most.

    contenders: the remedies that may each save most by their intervals, by what they save; empty
        if none saves anything by its interval.
    best: the combination, or single remedy, of the shortest time; None likewise.
    """

    contenders: tuple[Saving, ...] = ()
    best: Saving | None = None

    @property
    def first(self) -> Saving | None:
        """The remedy that comes first; None if several may, or none does."""
        return self.contenders[0] if len(self.contenders) == 1 else None


def candidates(savings: Sequence[Saving]) -> list[Saving]:
    """What may come first: single remedies; of one that doesn't train, the shortest pair that does.

    The pair has an optimizer besides, under which the remedy trains.
    """
    singles = [each for each in savings if each.single and each.trains]
    lame = {each.remedies for each in savings if each.single and not each.trains}
    lame -= {each.remedies for each in singles}
    pairs = [
        each
        for each in savings
        if each.trains and len(each.remedies) == 2 and _without_optimizer(each) in lame
    ]
    return [*singles, *sorted(pairs, key=_rest)[:1]]


def _without_optimizer(saving: Saving) -> tuple[str, ...]:
    return tuple(each for each in saving.remedies if each not in OPTIMIZERS)


def choice(savings: Iterable[Saving]) -> Choice:
    """What comes first of some savings of one phase, of those that train.

    A candidate contends if its interval of time begins before any candidate's ends, unless a pair
    that contends has it besides another; none does where no candidate saves by its interval. The
    spread of the plain time is theirs in common: so times with remedies are compared, over their
    plain time, and not savings.
    """
    every = list(savings)
    best = min((each for each in every if each.sure and each.trains), key=_rest, default=None)
    may = sorted(candidates(every), key=_rest)
    if not any(each.sure for each in may):
        return Choice((), best)
    shortest = min(each.relative.high.number for each in may)
    near = [each for each in may if each.relative.low.number <= shortest]
    parts = [{name} for each in near if not each.single for name in each.remedies]
    return Choice(tuple(each for each in near if set(each.remedies) not in parts), best)


def _rest(saving: Saving) -> float:
    """What is left of the plain time."""
    return saving.relative.middle.number
