"""Which rows of which table support a value of a part of the report."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from workflow_src.answers.evidence import OF_THE_MACHINE
from workflow_src.report.fits import unit_named
from workflow_src.report.values import COUNT, Value

ALIKE = 1e-9
"""Numbers that differ by no larger a share are one number, read from a file or computed again."""


@dataclass(frozen=True)
class Support:
    """What supports a value: a table and its rows, counted from 1 with the header.

    name and unit: of the value there. Without rows it was computed from others. computed: it was,
    and from these rows among others. points: those of a study that the rows are of.
    """

    name: str = ""
    unit: str = ""
    table: str = ""
    rows: tuple[int, ...] = ()
    computed: bool = False
    points: tuple[str, ...] = ()


Supported = Callable[[Value], Support]


class Facts:
    """The facts of an answer, which name the rows that support their values."""

    def __init__(self, facts: Sequence[Mapping[str, Any]]) -> None:
        # Each case has those of the machine, and so has what is of no case.
        self._facts: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for fact in facts:
            for case in {fact["case"], "" if fact["table"] in OF_THE_MACHINE else fact["case"]}:
                self._facts[case].append(fact)

    def __call__(self, value: Value) -> Support:
        """Support by the fact of the value's case that has the same value, and name if it can."""
        facts = [f for f in self._facts[value.case] if f["value"] == value.value]
        alike = [f for f in facts if f["name"].endswith(value.name)] or facts
        fact = next((f for f in alike if f["rows"]), alike[0] if alike else {})
        table, rows = fact.get("table", ""), tuple(fact.get("rows", ()))
        if fact.get("derived_from") and not rows:
            table, rows = self._first_rows(value.case, fact["derived_from"])
        return Support(fact.get("name", ""), fact.get("unit", ""), table, rows)

    def _first_rows(self, case: str, names: Sequence[str]) -> tuple[str, tuple[int, ...]]:
        """The table and rows of the first of some facts of a case that has any."""
        supported = {fact["name"]: fact for fact in self._facts[case] if fact["rows"]}
        fact = next((supported[name] for name in names if name in supported), None)
        return (str(fact["table"]), tuple(fact["rows"])) if fact else ("", ())


class Cells:
    """Tables by name, which have a value in a cell, or in cells what it was computed from."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        self._tables = tables
        self._floats = {name: table.select_dtypes("float") for name, table in tables.items()}

    def __call__(self, value: Value) -> Support:
        """Support by the rows that have the value, or else exact numbers that stand beside it."""
        name = "" if value.path.startswith(COUNT) else value.name
        beside = [each for each in value.beside.items() if is_exact(each[1])]
        found = [self._named(name, value.value), self._anywhere(value.value)]
        own = next((each for each in found if each), None)
        others = (self._named(*each) for each in beside)
        table, rows = own or next((each for each in others if each), ("", pd.DataFrame()))
        rows = narrowed(rows, value.beside)
        points = tuple(map(str, rows["point"].unique())) if "point" in rows else ()
        unit = unit_named(name)
        return Support("", unit, table, tuple(rows.index), computed=not own, points=points)

    def _named(self, name: str, cell: Any) -> tuple[str, pd.DataFrame] | None:
        """The first table, and its rows, with a cell in the column of that name."""
        for table, rows in self._tables.items():
            if name in rows and len(found := rows[equal(rows[name], cell)]):
                return table, found
        return None

    def _anywhere(self, cell: Any) -> tuple[str, pd.DataFrame] | None:
        """The first table, and its rows, with an exact number in any column."""
        for table, floats in self._floats.items() if is_exact(cell) else ():
            rows = ((floats - cell).abs() <= ALIKE * abs(cell)).any(axis=1)
            if rows.any():
                return table, self._tables[table][rows]
        return None


def is_exact(value: Any) -> bool:
    """Whether a value is a number of so many digits that it hardly stands twice by chance."""
    return isinstance(value, float) and f"{value:.5g}" != f"{value:.9g}"


def narrowed(rows: pd.DataFrame, beside: Mapping[str, Any]) -> pd.DataFrame:
    """Those of some rows that also have what stands beside a value, as far as any has."""
    for column, cell in beside.items():
        if column in rows and len(rows) > 1:
            same = rows[equal(rows[column], cell)]
            rows = same if len(same) else rows
    return rows


def equal(column: "pd.Series[Any]", cell: Any) -> "pd.Series[bool]":
    """Where a column has a cell's number or text."""
    if isinstance(cell, int | float) and is_numeric_dtype(column):
        return (column - cell).abs() <= ALIKE * abs(cell)
    return column.astype("str") == str(cell)
