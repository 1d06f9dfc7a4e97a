"""In how many of some cases something holds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workflow_src.paper.value import Cell, Joined, Value, count

FEW = 3
"""Of more cases, so many are named."""


def named(cases: Sequence[str]) -> str:
    """Cases by name, of many the first FEW; "" without any."""
    return ", ".join(cases[:FEW]) + (" and others" if len(cases) > FEW else "")


@dataclass(frozen=True)
class Among:
    """In how many of some cases something holds."""

    holds: Value
    of: Value

    @property
    def cell(self) -> Cell:
        """As a table prints it: "13 of 20"; None of no cases."""
        return Joined((self.holds, self.of), by=" of ") if self.of.number else None

    @property
    def share(self) -> float:
        """The share of them in which it holds; 0 without any."""
        return self.holds.number / self.of.number if self.of.number else 0.0

    @property
    def always(self) -> bool:
        """Whether it holds in all of them; not without any."""
        return self.holds.number == self.of.number > 0


def among(values: Sequence[Value | None], holds: Sequence[bool]) -> Among:
    """In how many of the cases it holds, given a value of each.

    Both counts have the sources of all: also those in which it doesn't hold were looked at.
    """
    every = count(values)
    known = [true for each, true in zip(values, holds, strict=True) if each is not None]
    return Among(replace(every, number=sum(known)), every)
