"""The calls of a selection whose size the host fetches: counting, selecting, and using what is.

That is boolean indexing, nonzero and unique, and the kernels that gather, write back or scatter by
the indices, in the range of the selection and, of autograd, in backward.
"""

from itertools import takewhile

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.finding import Subject, rows_of

SELECTING = r"DeviceSelect|DeviceCompact|write_indices|nonzero|masked_select|flag"
"""Kernels that pick the elements of a mask, after the host has fetched how many there are; or the
different ones of a tensor, before that."""

SORTING = (
    r"DeviceSelect|DeviceCompact|RadixSort|MergeSort|DeviceScan|adjacent_difference|"
    r"scatter_kernel|arange|direct_copy"
)
"""Kernels by which torch.unique sorts a tensor and selects from it."""

COUNTING = r"DeviceReduce"
"""Kernels that count the elements of a mask."""

BY_INDEX = r"gather_kernel|index_elementwise|indexSelect|scatter_kernel|indexing_backward"
"""Kernels that read or write elements by their indices."""

OF_GRADIENT = r"indexing_backward"
"""The last kernel of the gradient of what is read so."""

OF_INDICES = r"RadixSort|elementwise_kernel_with_index|Functor<long"
"""Kernels that compute or sort indices."""

BETWEEN = ("elementwise", "cast", "copy", "fill", "embedding", "indexing")
"""Families of kernels between a selection and what reads or writes by it."""

LONGEST = 64
"""Launches from a selection to what reads or writes by it, or in a gradient of that, at most."""

MOVING = ("copy", "fill")
"""Families of kernels that, just before one by index, make the tensor that it writes to."""


def selection_calls(subject: Subject, fetched: pd.DataFrame) -> Indices:
    """The calls of selections whose sizes are fetched, but for the copies and waits for these.

    fetched: rows of copies_table.transfers with `selected`: whether the selection came before.
    """
    own, launched = rows_of(subject.own), subject.own["launched"]
    sorts, selects, counts = (
        matching(launched, pattern).tolist() for pattern in (SORTING, SELECTING, COUNTING)
    )
    uses = _uses(subject.own)
    rows: list[int] = []
    used = 0
    for call, last, selected in fetched[["call", "last", "selected"]].itertuples(index=False):
        at, end = np.searchsorted(own, [call, last]).tolist()
        before, after = (sorts, []) if selected else (counts, selects[end + 1 :])
        first = end + 1 + _run(after)
        # Without unique, its first use would read all elements instead of the different ones.
        by_index = _following(uses, first)[int(selected) :]
        rows += [*range(at - _run(before[:at][::-1]), at), *range(end + 1, first), *by_index]
        used += bool(by_index)
    return np.unique(own[rows + _of_gradients(uses, rows, used)])


def _run(holds: list[bool]) -> int:
    """How many hold before the first that doesn't."""
    return sum(takewhile(bool, holds))


def _uses(calls: pd.DataFrame) -> pd.DataFrame:
    """Of each call of the loop, in order, which part it may have in reading and writing by index.

    between: its work may come between; reads: it is BY_INDEX; goes: it is there for those alone.
    """
    family, launched = calls["family"], calls["launched"]
    reads = matching(launched, BY_INDEX)
    computes = reads | matching(launched, OF_INDICES)
    moves = family.isin(MOVING).to_numpy() & np.append(computes[1:], False)
    return pd.DataFrame(
        {
            "path": calls["path_text"].to_numpy(),
            "between": family.isin(BETWEEN).to_numpy(),
            "reads": reads,
            "goes": computes | moves,
            "of_gradient": matching(launched, OF_GRADIENT),
        }
    )


def _following(uses: pd.DataFrame, first: int) -> list[int]:
    """The rows from `first` on by which is used what was selected before, in the same range."""
    after = uses[first : first + LONGEST]
    near = after[: _run((after["between"] & (after["path"] == uses["path"][first - 1])).tolist())]
    used: list[int] = rows_of(near[near["goes"] & near["reads"][::-1].cummax()]).tolist()
    return used


def _of_gradients(uses: pd.DataFrame, known: list[int], most: int) -> list[int]:
    """The other rows of gradients of what is read by index, if these are at most so many."""
    last = np.setdiff1d(np.flatnonzero(uses["of_gradient"]), known)
    if len(last) > most:
        return []
    goes, between = (uses[name].to_numpy() for name in ("goes", "between"))
    rows = []
    for n in last.tolist():
        before = between[max(n + 1 - LONGEST, 0) : n + 1]
        rows += [row for row in range(n + 1 - _run(before[::-1].tolist()), n + 1) if goes[row]]
    return rows
