"""The values of a part's summary, and which of the numbers of its sentences each can show."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from workflow_src.common.case import COUNTS, PHASES, PRECISIONS
from workflow_src.render.markdown import PHASE_WORDS
from workflow_src.report.fits import CASES, fits, tells, unit_of

ABOUT = {*COUNTS, "case", "named", "brief", "evidence", "read", "row"}
"""The keys of a summary that name a case, or rows of a table."""

COUNT = "how many in "
MEDIAN = re.compile(r"median of [-+]?$")
LONGEST_LABEL = 40

BY_WORD, BY_VALUE = 0, 1
"""How a value is known to be what a number shows."""


class Rank(NamedTuple):
    """How well a value fits a number: the least is the best.

    kind and shorter: a text that stands there word by word comes first, the longest first of all.
    away: how far the number is from its case's name. unsaid: what the line lacks of that name.
    unworded: the fewer of the value's labels and words of its path the sentence has, the more;
    unlabeled: of its labels. other_unit: whether its name doesn't tell the number's unit. far: how
    far its labels are from the number in all. unshown: the fewer of the whole numbers beside it the
    sentence has, the more. listed and depth: where it stands in the summary.
    """

    kind: int
    shorter: int
    away: float
    unsaid: int
    unworded: int
    unlabeled: int
    other_unit: bool
    far: float
    unshown: int
    listed: bool
    depth: int

    @property
    def told(self) -> tuple[int, ...]:
        """What the text itself tells of the fit, rather than where things stand or their names."""
        return self.kind, self.shorter, self.unsaid, self.unlabeled, self.other_unit


@dataclass(frozen=True)
class Value:
    """A value in a summary: where it stands, and the case that it is of, or "".

    names: what sentences call the case. listed: the case is one of several in a list. beside: the
    numbers and texts that stand beside it.
    """

    path: str
    value: Any
    case: str = ""
    names: tuple[str, ...] = ()
    listed: bool = False
    beside: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The last name in its path."""
        return self.path.rpartition(".")[2].partition("[")[0]

    @property
    def holder(self) -> str:
        """The path to what holds it."""
        return self.path.rpartition(".")[0]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The texts beside it, and the phases and precisions that lead to it, as in sentences."""
        texts = [each for each in self.beside.values() if isinstance(each, str)]
        told = [key for key in self._keys if key in (*PHASES, *PRECISIONS)]
        words = dict.fromkeys(PHASE_WORDS.get(each, each) for each in (*told, *texts))
        return tuple(each for each in words if 1 < len(each) <= LONGEST_LABEL)

    @cached_property
    def counts(self) -> tuple[str, ...]:
        """The whole numbers beside it, as sentences write them."""
        whole = [n for n in self.beside.values() if isinstance(n, int) and n != self.value]
        return tuple(dict.fromkeys(f"{n}" for n in whole if n > 9))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the names that lead to it."""
        parts = [each for key in self._keys if key not in PHASES for each in (key, *key.split("_"))]
        return tuple(dict.fromkeys(each for each in parts if len(each) > 1))

    @property
    def _keys(self) -> list[str]:
        return [each for each in re.split(r"[.\[\]]+", self.path) if not each.isdigit()]

    def rank(self, number: re.Match[str]) -> Rank | None:
        """Its rank among the values that a number of a line can show; None if it can't show this.

        A value of a case that its sentence doesn't name can't, if it is one of several in a list,
        unless nothing is what sentences call the case and this names the value.
        """
        unit = unit_of(number)
        counts = self.path.startswith(COUNT)
        if not fits(self.value, self.name, number) or (counts and (self.case or unit not in CASES)):
            return None
        away = min((distance(each, number) for each in self.names), default=inf)
        by_word = isinstance(self.value, str) and self.value != number[0]
        labeled = said(self.labels, sentence(number))
        named = said(self.words, sentence(number))
        meant = bool(named) and not self.names
        if not by_word and self.listed and away == inf and not meant:
            return None
        if not by_word and not self.case and MEDIAN.search(number.string[: number.start()]):
            away = 0
        return Rank(
            BY_WORD if by_word else BY_VALUE,
            -len(self.value) if by_word else 0,
            away,
            self.unsaid(number.string),
            -labeled - named,
            -labeled,
            not tells(self.name, unit),
            sum(far for each in self.labels if (far := distance(each, number)) < inf),
            -said(self.counts, sentence(number)),
            self.listed,
            len(re.findall(r"[.\[]", self.path)),
        )

    def unsaid(self, line: str) -> int:
        """How much of the case's name a line lacks; 0 if it has all of it in one place."""
        named = "".join(self.names[:1])
        return 0 if named in line else 1 + sum(part not in line for part in named.split(", "))


NOTHING = Value("", None)


def bounds(number: re.Match[str]) -> tuple[int, int]:
    """Where the sentence of a number of a line begins and ends."""
    line = number.string
    first = line.rfind(". ", 0, number.start()) + 1
    return first, line.find(". ", number.end()) % (len(line) + 1)


def sentence(number: re.Match[str]) -> str:
    """The sentence of a number of a line."""
    return number.string[slice(*bounds(number))]


def said(words: Sequence[str], text: str) -> int:
    """How many letters of some words a text has."""
    found = (re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text, re.IGNORECASE) for each in words)
    return sum(len(each[0]) for each in found if each)


def distance(name: str, number: re.Match[str]) -> float:
    """How far from a number of a line its sentence has `name`; infinite if it doesn't."""
    places = re.compile(re.escape(name)).finditer(number.string, *bounds(number))
    return min((abs(place.start() - number.start()) for place in places), default=inf)


def walk(held: Any, path: str, of: Value = NOTHING) -> Iterator[Value]:
    """All numbers and texts inside nested values, and how many each list holds.

    `of` is of the case that holds them. What names a case or rows of a table is left out, and so
    are the numbers between the ends of a list, because sentences give such a list by its ends.
    """
    if isinstance(held, Mapping):
        if "case" in held:
            of = Value("", None, str(held["case"]), _names(held), path.endswith("]"))
        # A whole summary is of everything, so that what it holds stands beside nothing.
        of = replace(of, beside=_scalars(held, of.beside) if "." in path else {})
        for key in (key for key in held if key not in ABOUT):
            yield from walk(held[key], f"{path}.{key}", of)
    elif isinstance(held, list | tuple):
        yield replace(of, path=f"{COUNT}{path}", value=len(held))
        of = replace(of, beside=_texts(held, of.beside))
        numbers = all(isinstance(inner, int | float) for inner in held)
        for place, inner in enumerate(held):
            if not numbers or inner in (min(held), max(held)):
                yield from walk(inner, f"{path}[{place}]", of)
    elif held is not None and not isinstance(held, bool):
        yield replace(of, path=path, value=held)


def _scalars(held: Mapping[str, Any], outer: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and texts of a mapping, then those of what holds it."""
    own = {key: each for key, each in held.items() if isinstance(each, str | int | float)}
    return own | {key: each for key, each in outer.items() if key not in own}


def _texts(held: Sequence[Any], outer: Mapping[str, Any]) -> dict[str, Any]:
    """The texts of a list that also holds numbers, then what stands beside it."""
    mixed = any(isinstance(each, int | float) for each in held)
    own = {str(at): each for at, each in enumerate(held) if mixed and isinstance(each, str)}
    return own | dict(outer)


def _names(case: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(case[name]) for name in ("named", "brief") if name in case)
