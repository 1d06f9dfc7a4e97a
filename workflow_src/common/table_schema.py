"""What each column of each table is.

tables.csv has a row per table, which says what a row of it is and, under `check`, its key; below it
a row per column. Columns that several tables share are those of a table without a file: `case`,
`study`, `capture`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workflow_src.common.csv_rows import csv_rows

FILE = Path(__file__).with_name("tables.csv")

SHARED_BY = {"studies": "study", "capture": "capture"}
"""The table whose columns all tables of a folder share."""

ALONE = frozenset({"case", "study", "capture", "ceilings"})
"""The other tables that aren't of cases."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    type: text, number, whole, id (a number that only names) or flag. unit: also where its name ends
    with it. check: what a reader requires, "required" that it is there, "filled" that each row has
    a number, too, "optional" that its numbers are valid where it is there; "" nothing.
    """

    table: str
    column: str
    type: str
    unit: str
    check: str
    meaning: str

    @property
    def is_text(self) -> bool:
        """Its cells are texts."""
        return self.type == "text"

    @property
    def is_number(self) -> bool:
        """Its cells are amounts."""
        return self.type in ("number", "whole")

    @property
    def is_required(self) -> bool:
        """A table with rows must have it."""
        return self.check in ("required", "filled")


@cache
def _rows() -> tuple[Column, ...]:
    return tuple(Column(**row) for row in csv_rows(FILE))


def tables() -> Mapping[str, str]:
    """What a row of each table is."""
    return {row.table: row.meaning for row in _rows() if not row.column}


def tables_in(folder: str) -> tuple[str, ...]:
    """The names of the tables in a folder."""
    return tuple(name.rpartition("/")[2] for name in tables() if name.startswith(f"{folder}/"))


@cache
def key(table: str) -> tuple[str, ...]:
    """The columns that no two rows of a table share; none where only whole rows differ."""
    found = (row.check.split() for row in _rows() if row.table == table and not row.column)
    return tuple(next(found, ()))


@cache
def own_columns(table: str) -> tuple[str, ...]:
    """The names of a table's columns, without those that it shares."""
    return tuple(row.column for row in _rows() if row.table == table and row.column)


@cache
def columns(table: str) -> Mapping[str, Column]:
    """The columns of a table by name, shared ones first."""
    folder = table.rpartition("/")[0]
    shared = SHARED_BY.get(folder, "" if table in ALONE else "case")
    described = [row for row in _rows() if row.column]
    return {row.column: row for name in (shared, table) for row in described if row.table == name}
