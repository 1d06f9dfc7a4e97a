"""A value that is printed: a number, its unit, and the table rows that it comes from."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, order=True)
class Rows:
    """Rows of a table: a CSV's name without ".csv", and line numbers; the header is line 1."""

    table: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """A finite number with its unit and its sources.

    `unit` is a key of `paper.show.FORMATS`. `formula` says in a few literal words how the number
    follows from its rows ("median over steps", "busy / plain"), for whoever computes it again.
    """

    number: float
    unit: str
    sources: tuple[Rows, ...]
    formula: str = ""

    @property
    def key(self) -> str:
        """The name of the sources, the same for all values of the same rows."""
        text = "_".join(f"{rows.table}-{'-'.join(map(str, rows.numbers))}" for rows in self.sources)
        return text if len(text) <= 40 else hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Joined:
    """Several cells in one: "2.2 -> 12 -> 17". Missing ones are dashes."""

    cells: "tuple[Cell, ...]"
    by: str = " \N{RIGHTWARDS ARROW} "


@dataclass(frozen=True)
class Marked:
    """A cell with a mark behind it, which a line below its table explains."""

    cell: "Cell"
    mark: str


@dataclass(frozen=True)
class Ranged:
    """A value and the least and most that it was: "21.6 (21.0 to 23.9)"; just the value if None."""

    value: "Cell"
    least: Value | None
    most: Value | None


@dataclass(frozen=True)
class Rounded:
    """A value alone, with the digits that the least and the most that it was earn."""

    value: Value
    least: Value | None = None
    most: Value | None = None


Cell = Value | Rounded | Joined | Marked | Ranged | str | int | None
"""What a table's cell or a headline's slot may hold; None is printed as a dash."""


def rows_of(table: str, frame: pd.DataFrame) -> Rows:
    """The rows of `frame`, whose index counts as in a spreadsheet."""
    return Rows(table, tuple(frame.index.tolist()))


def value(number: object, unit: str, *sources: Rows, formula: str = "") -> Value | None:
    """A value, or None where the number is missing, not finite, or not a number."""
    try:
        found = float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return Value(found, unit, merged(sources), formula) if math.isfinite(found) else None


def cell_of(
    rows: pd.DataFrame, table: str, column: str, unit: str = "ms", formula: str = ""
) -> Value | None:
    """A cell of the first row; None without rows, without that column, or where it is empty."""
    if rows.empty or column not in rows:
        return None
    source = rows_of(table, rows.iloc[:1])
    return value(rows[column].iloc[0], unit, source, formula=formula or column)


def computed(number: float | None, unit: str, formula: str, *values: Value | None) -> Value | None:
    """A value that follows from others; None if one of them is missing, or the number isn't finite.

    A division by zero is the caller's: see `ratio`.
    """
    known = [each for each in values if each is not None]
    if number is None or len(known) < len(values) or not math.isfinite(number):
        return None
    return Value(number, unit, merged(rows for each in known for rows in each.sources), formula)


def ratio(above: Value | None, below: Value | None, unit: str, formula: str = "") -> Value | None:
    """`above` / `below`; None if one is missing or `below` isn't above 0."""
    if above is None or below is None or not below.number > 0:
        return None
    return computed(above.number / below.number, unit, formula, above, below)


def difference(above: Value | None, below: Value | None, formula: str = "") -> Value | None:
    """`above` - `below`, of one unit; None if one is missing."""
    if above is None or below is None:
        return None
    return computed(above.number - below.number, above.unit, formula, above, below)


def complement(share: Value | None, formula: str = "") -> Value | None:
    """1 - `share`."""
    return None if share is None else computed(1 - share.number, share.unit, formula, share)


def total(values: Sequence[Value | None], formula: str = "sum") -> Value | None:
    """The sum of values of one unit; None if one is missing, or there are none."""
    known = [each for each in values if each is not None]
    if not values or len(known) < len(values):
        return None
    return computed(sum(each.number for each in known), known[0].unit, formula, *known)


def median(values: Iterable[Value | None], formula: str = "median") -> Value | None:
    """The median of those values that are there, all of one unit; None if none is."""
    known = [each for each in values if each is not None]
    if not known:
        return None
    middle = float(pd.Series([each.number for each in known]).median())
    return computed(middle, known[0].unit, formula, *known)


def spread(values: Iterable[Value | None]) -> "Ranged | None":
    """The median of what is there, with the least and the most of several; None without any."""
    known = sorted((each for each in values if each is not None), key=lambda each: each.number)
    ends = (known[0], known[-1]) if len(known) > 1 else (None, None)
    return Ranged(median(known), *ends) if known else None


def count(values: Iterable[Value | None], formula: str = "count") -> Value:
    """How many there are, with the sources of all of them."""
    known = [each for each in values if each is not None]
    return Value(len(known), "count", merged(r for each in known for r in each.sources), formula)


def merged(sources: Iterable[Rows]) -> tuple[Rows, ...]:
    """Sources with one entry per table, its numbers in order."""
    every = dict.fromkeys(sources)
    if len(every) == 1:
        return tuple(every)
    found: dict[str, set[int]] = {}
    for rows in every:
        found.setdefault(rows.table, set()).update(rows.numbers)
    return tuple(Rows(table, tuple(sorted(numbers))) for table, numbers in sorted(found.items()))
