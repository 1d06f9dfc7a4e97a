"""The calls of a selection whose size the host fetches: counting, selecting, and using what is.

That is boolean indexing, nonzero and unique, and the kernels that gather, write back or scatter by
the indices, in the range of the selection and, of autograd, in backward.
"""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.edit import Mask
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

    fetched: rows of transfers.fetched_numbers.
    """
    calls = subject.own
    own, launched, path = rows_of(calls), calls["launched"], calls["path_text"].to_numpy()
    sorts, selects, counts, reads, last_of_gradient = (
        matching(launched, pattern)
        for pattern in (SORTING, SELECTING, COUNTING, BY_INDEX, OF_GRADIENT)
    )
    between = calls["family"].isin(BETWEEN).to_numpy()
    # What is there for reading and writing by index alone.
    goes = reads | matching(launched, OF_INDICES)
    goes |= calls["family"].isin(MOVING).to_numpy() & np.append(goes[1:], False)
    rows: list[int] = []
    used = 0
    for call, last, selected in fetched[["call", "last", "selected"]].itertuples(index=False):
        at, end = np.searchsorted(own, [call, last]).tolist()
        before, first = (sorts if selected else counts)[:at], end + 1
        first += 0 if selected else _run(selects[first:])
        near = slice(first, first + LONGEST)
        near = slice(first, first + _run(between[near] & (path[near] == path[first - 1])))
        read_later = np.logical_or.accumulate(reads[near][::-1])[::-1]
        by_index = first + np.flatnonzero(goes[near] & read_later)
        # Without unique, its first use would read all elements instead of the different ones.
        by_index = by_index[int(selected) :]
        rows += [*range(at - _run(before[::-1]), at), *range(end + 1, first), *by_index]
        used += bool(len(by_index))
    gradients = np.setdiff1d(np.flatnonzero(last_of_gradient), rows)
    for last in gradients.tolist() if len(gradients) <= used else ():
        begins = last + 1 - _run(between[max(last + 1 - LONGEST, 0) : last + 1][::-1])
        rows += [*begins + np.flatnonzero(goes[begins : last + 1])]
    return np.unique(own[rows])


def _run(holds: Mask) -> int:
    """How many hold before the first that doesn't."""
    return int(np.logical_and.accumulate(holds).sum())
