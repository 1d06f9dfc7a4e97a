"""The steps of the levers study's table: what each remedy, or several, did to a case's step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from workflow_src.common.words import in_words
from workflow_src.paper.value import Rounded, Value, complement, difference, ratio
from workflow_src.studies.levers.points import PLAIN, STACK, stack
from workflow_src.studies.lines import PROCESSES, Line, differ, grouped, number, where

STEP = "train_step"

WORTH = 0.03
"""A remedy that saves less than this share of the training step is not worth its change."""


@dataclass(frozen=True)
class Step:
    """A phase of a case with some remedies, and the plain one of that case."""

    line: Line
    plain: Line | None

    @property
    def remedies(self) -> tuple[str, ...]:
        """The codes of the remedies, in order."""
        return tuple(filter(None, self.line.text("remedies").split("+")))

    @property
    def words(self) -> str:
        """The remedies in words."""
        return " + ".join(map(in_words, self.remedies)) or PLAIN

    @property
    def ms(self) -> Value | None:
        """The median time, per as many tokens as the plain batch has."""
        return self.line.measured("median_ms")

    @property
    def saved(self) -> Value | None:
        """The share of the plain time that it saves."""
        return self.line.measured("saving_share", "share")

    @property
    def device_ms(self) -> Value | None:
        """The device's work."""
        return self.line.measured("device_ms")

    def over_plain(self, column: str, unit: str) -> Value | None:
        """A cell over that of the plain step; None without one of the two."""
        plain = self.plain and self.plain.measured(column, unit)
        return ratio(self.line.measured(column, unit), plain, unit, f"{column} / the plain one's")

    @property
    def device_saved(self) -> Value | None:
        """The share of the plain step's device work that it saves."""
        return complement(self.over_plain("device_ms", "share"), "1 - device / plain device")

    @property
    def broken(self) -> bool:
        """Whether its gradients are not finite, though the plain step's are."""
        return _not_finite(self.line) and not (self.plain and _not_finite(self.plain))

    @property
    def counts(self) -> bool:
        """Whether it does the plain step's work in some time: a larger batch does more, and what
        gives no finite gradients does none."""
        return self.ms is not None and (self.line.whole("batches") or 1) == 1 and not self.broken

    @property
    def predicted(self) -> bool | None:
        """Whether its time is inside the interval predicted for it; None without one of both."""
        verdict = self.line.text("verdict")
        return verdict == "inside" if verdict and self.ms else None

    @property
    def width(self) -> Value | None:
        """How wide the predicted interval is, as a share of the plain step."""
        high, low = (self.line.value(f"predicted_{end}", "ms") for end in ("high", "low"))
        plain = self.line.value("plain_ms", "ms")
        return ratio(difference(high, low), plain, "share", "width / plain")


def _not_finite(line: Line) -> bool:
    return line.text("error_state") == "ok" and line.value("gradients_error", "share") is None


@dataclass(frozen=True)
class Case:
    """The training steps of a case: the plain one, and those with remedies."""

    name: str
    plain: Step | None
    steps: tuple[Step, ...]

    @property
    def alone(self) -> list[Step]:
        """Those with a single remedy that saves or costs something."""
        return [each for each in self.steps if len(each.remedies) == 1 and each.counts]

    @property
    def first(self) -> Step | None:
        """The remedy that alone saves most; None if none is shown to save WORTH."""
        worth = [each for each in self.alone if number(each.saved) >= WORTH]
        apart = [each for each in worth if differ(each.line, each.plain, PROCESSES)]
        return max(apart, key=lambda each: number(each.saved), default=None)

    @property
    def first_is_clear(self) -> bool:
        """Whether no other remedy's processes overlap with those of the one that saves most."""
        best = self.first
        others = [each for each in self.alone if each is not best]
        return best is None or all(differ(each.line, best.line, PROCESSES) for each in others)

    @property
    def stacked(self) -> list[Step]:
        """The plain step, and each measured one that has more remedies than the one before it."""
        about = self.steps[0].line if self.steps else self.plain.line if self.plain else None
        if about is None or about.text("device") not in STACK:
            return []
        every = filter(None, (self.plain, *self.steps))
        found = {each.line.text("variant"): each for each in every if each.counts}
        order = stack(about.text("precision"), about.text("device"))
        return [found[each.name] for each in order if each.name in found]

    @property
    def gains(self) -> list["Gain"]:
        """What each remedy saves on top of those before it."""
        return [Gain(before, each) for before, each in pairwise(self.stacked)]

    @property
    def least(self) -> Step | None:
        """The shortest step with remedies."""
        known = [each for each in self.steps if each.counts and each.ms]
        return min(known, key=lambda each: each.line.amount("median_ms"), default=None)

    @property
    def judged(self) -> list[Step]:
        """The steps that have both a time and a prediction."""
        return [each for each in self.steps if each.predicted is not None]


def added(before: Step, step: Step) -> str:
    """The remedies of a step beyond those of the one before it, in words."""
    return " + ".join(map(in_words, step.remedies[len(before.remedies) :]))


@dataclass(frozen=True)
class Gain:
    """What a step saves over the one that it stands on top of."""

    before: Step
    step: Step

    @property
    def words(self) -> str:
        """The remedies of the step beyond those of the one before it."""
        return added(self.before, self.step)

    @property
    def ms(self) -> Value | None:
        """By how much the median is shorter."""
        return difference(self.before.ms, self.step.ms, "saved by it")

    @property
    def time(self) -> Rounded | None:
        """`ms` with the digits that the fastest and the slowest processes of both earn."""
        (fast, slow), (least, most) = (
            [each.line.value(end, "ms") for end in PROCESSES] for each in (self.before, self.step)
        )
        ends = difference(fast, most), difference(slow, least)
        return Rounded(self.ms, *ends) if self.ms else None

    @property
    def is_shown(self) -> bool:
        """Whether the processes of both don't overlap."""
        return differ(self.step.line, self.before.line, PROCESSES)


def steps_of(every: Sequence[Line]) -> list[Step]:
    """All lines as steps, each with the plain one of its case and phase."""
    plain = {(line.text("case"), line.text("phase")): line for line in every if is_plain(line)}
    return [Step(line, plain.get((line.text("case"), line.text("phase")))) for line in every]


def is_plain(line: Line) -> bool:
    """Whether a line is of the plain variant."""
    return line.text("variant") == PLAIN


def cases(every: Sequence[Line]) -> list[Case]:
    """The training steps by case, in the order of the table."""
    found = []
    for mine in grouped(where(every, phase=STEP), "case"):
        steps = steps_of(mine)
        plain = next((each for each in steps if is_plain(each.line)), None)
        tried = tuple(each for each in steps if not is_plain(each.line))
        found.append(Case(mine[0].text("case"), plain, tried))
    return found
