"""A law of conservation: two sides, taken from the tables of a run, that agree key by key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

Tables = Mapping[str, pd.DataFrame]
"""Joined tables by name, as of `read_tables` in tables/laws.py."""

Side = Callable[[Tables], pd.Series]
"""A number per key; the levels of its index are named, the first is `case`."""

Rows = Callable[[pd.DataFrame], "pd.Series[bool]"]

COLUMNS = ("case", "phase", "law", "where", "left", "right", "difference", "allowed")

FLOATS = "sums of floating-point numbers"
ROUNDED = 1e-12
"""The share of a sum that may be lost to rounding; a FLOP or a byte more is a larger one."""


@dataclass(frozen=True)
class Law:
    """left = right for each key of either, or, if `at_most`, left <= right.

    A key that one side lacks counts as 0 there. allowed: the difference that is no violation, as a
    number or per key, and `why` it is more than 0; why also says which rows the law leaves out. A
    side that is not a number is a violation.
    """

    name: str
    left: Side
    right: Side
    unit: str
    at_most: bool = False
    allowed: Side | float = 0.0
    why: str = ""

    def compared(self, tables: Tables) -> pd.DataFrame:
        """A row with COLUMNS per key; difference: left - right, in `unit` as both sides are.

        where: the parts of the key besides case and phase. Raises KeyError if `tables` lack a
        table or a column of the law.
        """
        left, right = self.left(tables), self.right(tables)
        keys = left.index.union(right.index)
        sides = [each.reindex(keys, fill_value=0) for each in (left, right)]
        found = pd.DataFrame({"left": sides[0], "right": sides[1]}, index=keys)
        found = found.assign(law=self.name, difference=found["left"] - found["right"])
        found = found.assign(allowed=self._allowed(tables, keys)).reset_index()
        names = [name for name in keys.names if name not in ("case", "phase")]
        where = [
            ", ".join(f"{name} {part}" for name, part in zip(names, parts, strict=True))
            for parts in zip(*(found[name] for name in names), strict=True)
        ]
        phase = found.get("phase", "")
        return found.assign(phase=phase, where=where or "")[list(COLUMNS)]

    def _allowed(self, tables: Tables, keys: pd.Index) -> pd.Series | float:
        if callable(self.allowed):
            return self.allowed(tables).reindex(keys, fill_value=0.0)
        return self.allowed

    def broken(self, compared: pd.DataFrame) -> pd.DataFrame:
        """The rows of `compared` that violate the law."""
        difference = compared["difference"]
        beyond = difference if self.at_most else difference.abs()
        return compared[~(beyond <= compared["allowed"])]


def total(table: str, column: str, *keys: str, only: Rows | None = None) -> Side:
    """The side that sums a column of a table by `keys`, over the rows that `only` chooses."""

    def chosen(tables: Tables) -> pd.DataFrame:
        rows = tables[table]
        return rows[only(rows)] if only else rows

    return summed(chosen, column, *keys)


def summed(rows: Callable[[Tables], pd.DataFrame], column: str, *keys: str) -> Side:
    """The side that sums a column of some rows by `keys`."""

    def side(tables: Tables) -> pd.Series:
        return rows(tables).groupby(list(keys))[column].sum()

    return side


def rounded(side: Side) -> Side:
    """What sums of floating-point numbers as large as those of a side may differ by."""
    return lambda tables: side(tables).abs() * ROUNDED


def is_equal(column: str, value: str) -> Rows:
    """Chooses the rows that have this value."""
    return lambda rows: rows[column] == value


def check(tables: Tables, laws: Sequence[Law]) -> pd.DataFrame:
    """A row with COLUMNS per violation of `laws`. Raises KeyError: see `Law.compared`."""
    found = [law.broken(law.compared(tables)) for law in laws]
    return pd.concat(found, ignore_index=True)
