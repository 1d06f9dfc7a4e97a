"""Which rows of a capture's CSVs are shown, those of the most time, and as which cells."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.common.table_schema import Column
from workflow_src.paper.markdown import records
from workflow_src.paper.value import Cell, Rows, value

FIRST, SHOWN, PAGE = 10, 30, 1000
"""Rows of a table in Markdown, fewer of the diagnosis', and on the page; the CSVs have all."""

MS = "two digits"
"""The unit of milliseconds in a sentence: whole ones from 10 on."""

FIRST_SCREEN = 6
"""At most so many rows has the table of what saves little."""


def most(rows: pd.DataFrame, column: str, count: int = PAGE) -> pd.DataFrame:
    """The rows with the most in a column of numbers, in their order."""
    place = rows[column].fillna(0).rank(method="first", ascending=False)
    return rows[place <= count]


def cells_of(rows: pd.DataFrame, csv: str, shown: Sequence[Column]) -> list[list[Cell]]:
    """The cells of a CSV's rows in some of its columns."""
    return [
        [_cell(row[each.column], each, Rows(csv, (number,))) for each in shown]
        for number, row in zip(rows.index, records(rows), strict=True)
    ]


def filled(lines: Sequence[Sequence[Cell]], heads: Sequence[str]) -> pd.DataFrame:
    """A table of these columns, without those that have no value."""
    shown = pd.DataFrame(lines, columns=list(heads), dtype="object")
    return shown if len(shown) == 0 else shown.loc[:, shown.notna().any().to_numpy()]


def by_process(
    lines: Sequence[Sequence[Cell]], heads: Sequence[str], several: bool
) -> pd.DataFrame:
    """A table whose lines begin with their process, which is shown if there are several."""
    shown = pd.DataFrame(lines, columns=["process", *heads], dtype="object")
    return shown if several else shown.drop(columns="process")


def unit_of(column: Column, number: float) -> str:
    """A column's unit, that of a count for a whole number without any."""
    return "count" if not column.unit and number.is_integer() else column.unit


def text_of(cell: object) -> str | None:
    """A text; None, a dash, for an empty one."""
    return None if pd.isna(cell) else str(cell)  # type: ignore[call-overload]


def _cell(cell: object, column: Column, source: Rows) -> Cell:
    if column.is_number:
        return value(cell, unit_of(column, float(str(cell))), source, formula=column.column)
    return text_of(cell)
