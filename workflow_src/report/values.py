"""The values of an answer's summary, and which of the numbers of its sentences each can show."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from workflow_src.common.case import COUNTS
from workflow_src.report.fits import CASES, fits, unit_of

ABOUT = {*COUNTS, "case", "named", "brief", "evidence", "read", "row"}
"""The keys of an answer's summary that name a case, or rows of a table."""

COUNT = "how many in "
MEDIAN = re.compile(r"median of [-+]?$")

BY_WORD, BY_VALUE = 0, 1
"""How a value is known to be what a number shows."""

Rank = tuple[float, ...]


@dataclass(frozen=True)
class Value:
    """A value in an answer's summary: where it stands, and the case that it is of, or "".

    names: what sentences call the case. listed: the case is one of several in a list.
    """

    path: str
    value: Any
    case: str = ""
    names: tuple[str, ...] = ()
    listed: bool = False

    @property
    def name(self) -> str:
        """The last name in its path."""
        return self.path.rpartition(".")[2].partition("[")[0]

    def rank(self, number: re.Match[str]) -> Rank | None:
        """Its rank among the values that a number of a line can show; None if it can't show this.

        First comes a text that stands there word by word, then a value of the case that the
        sentence names nearest to the number, and its line most completely, or of all cases before
        a median.
        """
        unit = unit_of(number)
        counts = self.path.startswith(COUNT)
        if not fits(self.value, self.name, number) or (counts and (self.case or unit not in CASES)):
            return None
        away = min((distance(each, number) for each in self.names), default=inf)
        depth = len(re.findall(r"[.\[]", self.path))
        if isinstance(self.value, str) and self.value != number[0]:
            return BY_WORD, -len(self.value), away, self.listed, depth
        if self.listed and away == inf:
            return None
        if not self.case and MEDIAN.search(number.string[: number.start()]):
            away = 0
        return BY_VALUE, away, self.unsaid(number.string), unit not in self.name, depth

    def unsaid(self, line: str) -> int:
        """How much of the case's name a line lacks; 0 if it has all of it in one place."""
        named = "".join(self.names[:1])
        return 0 if named in line else 1 + sum(part not in line for part in named.split(", "))


NOTHING = Value("", None)


def distance(name: str, number: re.Match[str]) -> float:
    """How far from a number of a line its sentence has `name`; infinite if it doesn't."""
    line = number.string
    first = line.rfind(". ", 0, number.start()) + 1
    last = line.find(". ", number.end()) % (len(line) + 1)
    places = re.compile(re.escape(name)).finditer(line, first, last)
    return min((abs(place.start() - number.start()) for place in places), default=inf)


def walk(held: Any, path: str, of: Value = NOTHING) -> Iterator[Value]:
    """All numbers and texts inside nested values, and how many each list holds.

    `of` is of the case that holds them. What names a case or rows of a table is left out, and so
    are the numbers between the ends of a list, because sentences give such a list by its ends.
    """
    if isinstance(held, Mapping):
        if "case" in held:
            of = Value("", None, str(held["case"]), _names(held), path.endswith("]"))
        for key in (key for key in held if key not in ABOUT):
            yield from walk(held[key], f"{path}.{key}", of)
    elif isinstance(held, list | tuple):
        yield replace(of, path=f"{COUNT}{path}", value=len(held))
        numbers = all(isinstance(inner, int | float) for inner in held)
        for place, inner in enumerate(held):
            if not numbers or inner in (min(held), max(held)):
                yield from walk(inner, f"{path}[{place}]", of)
    elif held is not None and not isinstance(held, bool):
        yield replace(of, path=path, value=held)


def _names(case: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(case[name]) for name in ("named", "brief") if name in case)
