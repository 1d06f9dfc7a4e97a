"""Rows of a capture in an order of their own, whatever order the file has them in."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices

Values = npt.NDArray[Any]


def in_order(start: Indices, others: Sequence[Values]) -> Indices:
    """The rows by `start`, those of one start by the other columns in turn.

    Files are nearly in order, so that sorting by one column takes little; few rows share a start.
    """
    order = np.argsort(start, kind="stable")
    same = _like_the_one_before(start[order])
    tied = same | np.append(same[1:], False)
    if tied.any():
        rows = order[tied]
        keys = [_sortable(column[rows]) for column in (start, *others)]
        order[tied] = rows[np.lexsort(keys[::-1])]
    return np.asarray(order, dtype=np.int64)


def repeated(order: Indices, columns: Sequence[Values]) -> Indices:
    """The rows that equal the one before in all columns, by an order that brings equals together.

    The first column is that of the starts, of which few are equal.
    """
    places = np.flatnonzero(_like_the_one_before(columns[0][order]))
    for column in columns[1:]:
        places = places[column[order[places]] == column[order[places - 1]]]
    return np.asarray(order[places], dtype=np.int64)


def rows_where(table: pd.DataFrame, which: npt.NDArray[np.bool_]) -> pd.DataFrame:
    """Some rows of a table; all of them take no memory of their own."""
    return table if which.all() else table[which]


def _like_the_one_before(values: Values) -> npt.NDArray[np.bool_]:
    return np.append(False, values[1:] == values[:-1])[: len(values)]


def _sortable(values: Values) -> Values:
    """Numbers as they are, texts as their places in order."""
    if values.dtype != object:
        return values
    return np.asarray(pd.factorize(values, sort=True)[0])
