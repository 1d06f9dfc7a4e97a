"""What an nsys export is kept in: tables with columns, by the names that they have there."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, Self

from workflow_src.common.intervals import Indices


@dataclass(frozen=True)
class Wanted:
    """A column of integers, and what stands for a value that is missing or no integer."""

    column: str
    missing: int
    no_integer: int


@dataclass(frozen=True)
class Among:
    """The rows in which a column has one of some values."""

    column: str
    values: tuple[int, ...]


class Store(Protocol):
    """The tables of an export. Rows come in one order, whatever is read of them."""

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each table."""

    def rows(self, table: str) -> int:
        """How many rows a table has."""

    def integers(
        self, table: str, wanted: Sequence[Wanted], among: Among | None = None
    ) -> list[Indices]:
        """Columns of a table, or of some of its rows."""

    def values(self, table: str, column: str, among: Among | None = None) -> list[object]:
        """A column of text; None where it is missing."""

    def duration_ns(self, table: str, start: str, end: str) -> int:
        """The sum of end - start of the rows that start and end, in this order, at plausible times.

        It is computed apart from `integers`, so that what is lost in reading these is seen.
        """

    def apart(self) -> AbstractContextManager[Self]:
        """The same tables, to be read in another thread."""
