"""Cells of tables, and what they hold."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from workflow_src.paper.number import Number, Row


class Link(NamedTuple):
    """A cell that leads to a place in the page, and is text in Markdown."""

    text: str
    to: str


class Both(NamedTuple):
    """A cell that was printed in both forms."""

    markdown: str
    html: str


def ranges(rows: Iterable[Row]) -> dict[str, str]:
    """Rows by table, in ranges of lines: {"kernels": "2-40, 57"}."""
    found: dict[str, str] = {}
    for table, mine in groupby(sorted(rows), key=lambda row: row[0]):
        runs = groupby(enumerate(line for _, line in mine), key=lambda pair: pair[1] - pair[0])
        ends = [[line for _, line in run] for _, run in runs]
        found[table] = ", ".join(f"{e[0]}-{e[-1]}" if e[1:] else str(e[0]) for e in ends)
    return found


def number_in(cell: Any) -> Number | None:
    """The Number of a cell."""
    parts = cell if isinstance(cell, tuple) else (cell,)
    return next((each for each in parts if isinstance(each, Number)), None)


def is_missing(cell: Any) -> bool:
    """Whether a cell says nothing; "" and None are missing like NaN."""
    return cell is None or cell == "" or (not isinstance(cell, tuple) and cell != cell)


def is_share(cell: Any) -> bool:
    """Whether a cell is a share, which may have a bar."""
    number = number_in(cell)
    return number is not None and number.unit == "share"


def meter(share: float, text: str) -> str:
    """A bar on a track of 100 % with its text."""
    wide = max(0.0, min(100.0, 100 * share))
    return f"<div class=meter style=--w:{wide:.3g}%>{text}</div>"
