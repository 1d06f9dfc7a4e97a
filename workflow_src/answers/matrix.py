"""Matrices of one cell per case: sizes down, contexts across, one for each of the other axes."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pandas as pd

from workflow_src.answers.tables import CaseKey
from workflow_src.common.case import CASE_COLUMNS, MAIN
from workflow_src.common.words import DASH, STATES
from workflow_src.paper.value import Cell

T = TypeVar("T")

OTHERS = tuple(name for name in CASE_COLUMNS[1:] if name not in MAIN)
"""The axes that stand in a matrix's corner where they vary; the precision always does."""

NOTHING = (None, STATES["not_measured"])
"""The cells of what wasn't measured."""


def matrices(cases: Sequence[CaseKey], cell: Callable[[CaseKey], Cell]) -> tuple[pd.DataFrame, ...]:
    """A table for each precision (and whatever else varies), in the order of the cases.

    The first column is named after these, the others after contexts; cells without a case are None.
    Rows, columns and tables in which nothing was measured are left out.
    """
    every = (matrix(corner, mine, cell) for corner, mine in corners(cases))
    return tuple(each for each in every if len(each))


def corners(cases: Sequence[CaseKey]) -> Iterable[tuple[str, list[CaseKey]]]:
    """The cases of each precision (and whatever else varies), with what stands in the corner."""
    varying = [name for name in OTHERS if len({getattr(case, name) for case in cases}) > 1]
    found: dict[str, list[CaseKey]] = {}
    for case in cases:
        found.setdefault(_corner(case, varying), []).append(case)
    return found.items()


def _corner(case: CaseKey, varying: Sequence[str]) -> str:
    others = (f"{name} {getattr(case, name)}" for name in varying)
    return ", ".join([case.precision, *others])


def matrix(corner: str, cases: Iterable[CaseKey], cell: Callable[[CaseKey], Cell]) -> pd.DataFrame:
    """One of `matrices`, of some cases, with its corner; without rows if nothing is known."""
    cells = {case: cell(case) for case in cases}
    known = [case for case in cases if cells[case] not in NOTHING]
    sizes, contexts = {case.size for case in known}, sorted({case.context for case in known})
    rows: dict[str, dict[int, Cell]] = {}
    for case in cases:
        if case.size in sizes:
            rows.setdefault(case.size, {})[case.context] = cells[case]
    lines = [[size, *(mine.get(context) for context in contexts)] for size, mine in rows.items()]
    return pd.DataFrame(lines, columns=[corner, *map(heading, contexts)], dtype="object")


def heading(context: int) -> str:
    """A context as a column's heading; that of a brought model without one is 0."""
    return str(context) if context else DASH


def by_precision(cases: Sequence[CaseKey]) -> dict[str, list[CaseKey]]:
    """Cases by precision, in the order of their first appearance."""
    found: dict[str, list[CaseKey]] = {}
    for case in cases:
        found.setdefault(case.precision, []).append(case)
    return found
