"""The lines of a study's table, whose cells become values, and tables made of such cells."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import pandas as pd

from workflow_src.common import words
from workflow_src.common.units import MIB_PER_GIB
from workflow_src.paper.show import FORMATS
from workflow_src.paper.value import (
    Cell,
    Joined,
    Ranged,
    Rounded,
    Rows,
    Value,
    computed,
    count,
    median,
    merged,
    ratio,
    value,
)

PERCENTILES = ("p20_ms", "p80_ms")
"""The ends of what a time was, of samples."""


@final
@dataclass(frozen=True)
class Line:
    """A line of the table `table`; the header is line 1. An absent column is as an empty cell."""

    table: str
    number: int
    cells: Mapping[str, object]

    def text(self, column: str) -> str:
        """A cell as text; "" where it is empty."""
        found = self.cells.get(column)
        return "" if found is None or found != found else str(found)

    def whole(self, column: str) -> int | None:
        """A cell as an integer that identifies: a context, a number of warm-up steps."""
        found = self.value(column, "count")
        return None if found is None else round(found.number)

    def value(self, column: str, unit: str, formula: str = "") -> Value | None:
        """A cell as a value; None where it is empty or no number."""
        return value(self.cells.get(column), unit, self.rows, formula=formula or column)

    def measured(self, column: str, unit: str = "ms") -> Value | None:
        """As `value`; None where the line wasn't measured."""
        return self.value(column, unit) if self.ok else None

    def amount(self, column: str) -> float:
        """A cell as a number to draw or to sort by; 0 where it is empty."""
        return number(self.value(column, ""))

    def has(self, *columns: str) -> bool:
        """Whether all of these cells hold a number."""
        return all(self.value(column, "") is not None for column in columns)

    def ranged(self, middle: str, low: str, high: str, unit: str) -> Cell:
        """A cell with two others as its ends; None where it is empty."""
        found = self.value(middle, unit)
        return found and Ranged(found, self.value(low, unit), self.value(high, unit))

    @property
    def times(self) -> Cell:
        """The median time (ms) with the 20th and the 80th percentile."""
        return self.ranged("median_ms", "p20_ms", "p80_ms", "ms")

    @property
    def time(self) -> Rounded | None:
        """The median time (ms), with the digits that its 20th to 80th percentile earns.

        None where the line wasn't measured; two digits of one sample or two, which tell no spread.
        """
        median_ms = self.measured("median_ms")
        ends = (
            self.value(end, "ms") for end in PERCENTILES if self.amount("samples") not in (1, 2)
        )
        return Rounded(median_ms, *ends) if median_ms else None

    @property
    def phase(self) -> str:
        """The phase in words."""
        return words.PHASES.get(self.text("phase"), self.text("phase"))

    def named(self, *columns: str) -> str:
        """What some cells say, one after another."""
        found = (self.text(column).removesuffix(".0").replace("_", " ") for column in columns)
        return " ".join(filter(None, found))

    def true(self, column: str) -> bool:
        """Whether a cell says so."""
        return self.text(column) in ("True", "1", "1.0")

    @property
    def rows(self) -> Rows:
        """The line as a source."""
        return Rows(self.table, (self.number,))

    @property
    def ok(self) -> bool:
        """Whether the line was measured."""
        return self.text("status") == "ok"

    @property
    def state(self) -> str:
        """In words, why the line wasn't measured."""
        status = self.text("status")
        return words.STATES.get(status, status)


def lines(table: pd.DataFrame, study: str) -> tuple[Line, ...]:
    """The lines of a study's table, or of `ceilings`, as section.py reads them."""
    name = study if study == "ceilings" else f"studies/{study}"
    rows = table.to_dict("records")
    return tuple(
        Line(name, int(number), {str(key): cell for key, cell in row.items()})
        for number, row in zip(table.index, rows, strict=True)
    )


def where(every: Iterable[Line], **cells: str) -> list[Line]:
    """The lines with these texts in these columns."""
    return [line for line in every if all(line.text(name) == cells[name] for name in cells)]


def number(value: Value | None) -> float:
    """A value as a number to draw or to sort by; 0 where it is missing."""
    return value.number if value else 0.0


def most(values: Iterable[Value | None]) -> Value | None:
    """The largest of the values that are there."""
    return max(filter(None, values), key=number, default=None)


def shown(rows: Sequence[Mapping[str, Cell]]) -> pd.DataFrame:
    """A table to print: a column per key, without those in which no row has a cell."""
    columns = dict.fromkeys(key for row in rows for key in row)
    kept = [key for key in columns if any(row.get(key) is not None for row in rows)]
    cells = [[row.get(key) for key in kept] for row in rows]
    return pd.DataFrame(cells, columns=kept, dtype="object")


def grouped(every: Iterable[Line], *columns: str) -> list[list[Line]]:
    """Lines that agree in some columns, in order of first appearance."""
    found: dict[tuple[str, ...], list[Line]] = {}
    for line in every:
        found.setdefault(tuple(line.text(column) for column in columns), []).append(line)
    return list(found.values())


def by_host(every: Iterable[Line]) -> list[list[Line]]:
    """Lines of each host, those of the host with most of them first.

    Of points from before hosts had ids, it isn't known whether they are of one.
    """
    return sorted(grouped(every, "host_id"), key=len, reverse=True)


def unmeasured(every: Iterable[Line], name: Callable[[Line], str]) -> pd.DataFrame:
    """A row per name, state and reason of lines that weren't measured, and how many they are."""
    found: dict[tuple[str, str, str], list[Rows]] = {}
    for line in every:
        if not line.ok:
            key = (name(line), line.state, line.text("reason"))
            found.setdefault(key, []).append(line.rows)
    return shown(
        [
            {
                "without a measurement": named,
                "state": state,
                "why": reason or None,
                "rows": Value(len(rows), "count", merged(rows), "count"),
            }
            for (named, state, reason), rows in found.items()
        ]
    )


def shape(line: Line) -> list[Cell]:
    """How large a model is: "layers 32", "d_model 2560", "heads 32"; older tables lack it."""
    names = ("layers", "d_model", "heads")
    return [Joined((name, found), by=" ") for name in names if (found := line.whole(name))]


def conditions(every: Sequence[Line], names: Mapping[str, str]) -> Cell:
    """What columns hold, least to most, with their words: "context 512, batch 2 to 4"."""
    known = {word: spread(line.value(column, "count") for line in every)
             for column, word in names.items()}  # fmt: skip
    told = tuple(Joined(each, by=" ") for each in known.items() if each[1] is not None)
    return Joined(told, by=", ") if told else None


def gib(line: Line, column: str) -> Value | None:
    """A cell of MiB in GiB."""
    return in_gib(line.value(column, "MiB"))


def in_gib(mib: Value | None) -> Value | None:
    """MiB in GiB."""
    return mib and computed(mib.number / MIB_PER_GIB, "GiB", mib.formula, mib)


def change(predicted: Value | None, measured: Value | None) -> Value | None:
    """By how much a prediction is off, with its sign."""
    found = ratio(predicted, measured, "change", "predicted / measured - 1")
    return found and computed(found.number - 1, "change", found.formula, found)


def absolute(off: Value) -> Value:
    """By how much, without sign."""
    return Value(abs(off.number), "share", off.sources, f"|{off.formula}|")


def joined(values: Iterable[Value | None]) -> Cell:
    """Values with arrows between them; None without any."""
    every = tuple(values)
    return Joined(every) if any(every) else None


def out_of(found: Sequence[Value], every: Sequence[Value]) -> Cell:
    """How many of all: "3 of 4", with the sources of all; None without any."""
    if not every:
        return None
    sources = merged(rows for value in every for rows in value.sources)
    return Joined((Value(len(found), "count", sources, "count"), count(every)), by=" of ")


def ranged(values: Sequence[Value]) -> Cell:
    """The median, with the least and the most of several; None without any."""
    ends = sorted(values, key=number)
    if len(ends) < 2:
        return ends[0] if ends else None
    return Ranged(median(values), ends[0], ends[-1])


def spread(values: Iterable[Value | None]) -> Cell:
    """The least to the most, or one of them if both look alike; None without any."""
    ends = sorted(filter(None, values), key=number)
    if not ends:
        return None
    low, high = ends[0], ends[-1]
    alike = FORMATS[low.unit](low.number) == FORMATS[high.unit](high.number)
    return low if alike else Joined((low, high), by=" to ")
