"""Copies between host and device: the calls that made and awaited them, and why numbers come."""

from math import inf

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Mask
from workflow_src.diagnosis.recording import SYNCHRONIZE
from workflow_src.diagnosis.subject import MANY, Subject, once, rows_of

TO_DEVICE, TO_HOST = "HtoD", "DtoH"

SMALL_BYTES = 1024
"""A copy of at most so much carries numbers, not data: its time doesn't depend on its size."""

SHORT_KINDS = ("elementwise", "reduction", "fill", "copy", "optimizer")
"""Families of the small kernels that compute one number of a tensor."""

FILL = "fill"

LONGEST_LEAD = 6
"""Activities that compute a number before it is fetched: isfinite and all take so many."""

TRUTH_BYTES = 1
"""What a single truth takes, as isfinite(...).all() gives."""

SELECTION, CHECK, OF_EACH, ITEM = "selection", "debug_checks", "number_of_each_tensor", "item"
"""Why a number is fetched: how much is selected, whether a result is right, what it is of each of
many tensors, or for no reason that one sees."""


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


@once
def transfers(subject: Subject) -> pd.DataFrame:
    """A row per copy between host and device, by its row of work.

    call, step, path_text; wait: the synchronization directly after it on its thread, or NOWHERE;
    last: the later one of both; direction; memory: the host's; bytes; device_ns.
    """
    copies = subject.copies
    copies = copies[copies["direction"].isin([TO_DEVICE, TO_HOST])]
    call = subject.work.loc[copies.index, "call"].to_numpy(dtype=np.int64)
    calls, own = subject.calls, rows_of(subject.own)
    following = np.append(own, NOWHERE)[np.searchsorted(own, call, side="right")]
    after, made = calls.reindex(following), calls.loc[call].set_index(copies.index)
    awaited = (after["kind"] == SYNCHRONIZE).to_numpy()
    awaited = awaited & (after["thread"].to_numpy() == made["thread"].to_numpy())
    last = np.where(awaited, following, call)
    to_device = copies["direction"] == TO_DEVICE
    table: pd.DataFrame = made[["step", "path_text"]].assign(
        call=call,
        wait=np.where(awaited, following, NOWHERE),
        last=last,
        direction=copies["direction"].astype(object),
        memory=np.where(to_device, copies["source"], copies["target"]),
        bytes=copies["bytes"],
        device_ns=subject.work["device_ns"],
    )
    return table.sort_values("call")


def of_size(subject: Subject, direction: str, least: float, most: float = inf) -> pd.DataFrame:
    """The transfers in one direction of so many bytes."""
    every = transfers(subject)
    return every[(every["direction"] == direction) & every["bytes"].between(least, most)]


def calls_of(copies: pd.DataFrame) -> Indices:
    """The calls that made some transfers, and those that waited for them, in order."""
    return np.setdiff1d(np.concatenate([copies["call"], copies["wait"]]), [NOWHERE])


@once
def fetched_numbers(subject: Subject) -> pd.DataFrame:
    """Copies of numbers to the host, with `reason`: one of the four above.

    selected: whether a kernel that selects comes directly before, and none after.
    """
    found, own = of_size(subject, TO_HOST, 0, SMALL_BYTES), subject.own
    selects = np.append(matching(own["launched"], SELECTING), [False] * 3)
    at, last = (np.searchsorted(rows_of(own), found[name]) for name in ("call", "last"))
    selects_after = selects[last[:, None] + [1, 2, 3]].any(axis=1)
    before = np.maximum(at - 1, 0)
    selected = selects[before] & ~selects_after
    computed = own["family"].to_numpy()[before] == "reduction"
    reason = pd.Series(
        np.select(
            [selects_after | selected, (found["bytes"] == TRUTH_BYTES) & computed, computed],
            [SELECTION, CHECK, OF_EACH],
            ITEM,
        ),
        found.index,
        dtype=object,
    )
    often = reason.groupby(reason).transform("size") >= MANY * subject.step_count
    reason[reason.isin([CHECK, OF_EACH]) & ~often] = ITEM
    return found.assign(selected=selected, reason=reason)


def check_calls(subject: Subject) -> Indices:
    """The calls that check results: what computes truths, and the copies and waits of these."""
    numbers = fetched_numbers(subject)
    checks = numbers[numbers["reason"] == CHECK]
    return np.concatenate([leads(subject, checks), calls_of(checks)])


def leads(subject: Subject, fetched: pd.DataFrame) -> Indices:
    """The calls, directly before all of some copies, whose work computes the number that is copied.

    They launch small kernels of the same families before each of the copies, between fills if need
    be, and come after the copy before it.
    """
    own, family = rows_of(subject.own), subject.own["family"].to_numpy()
    at, last = (np.searchsorted(own, fetched[name]) for name in ("call", "last"))
    before = np.append(NOWHERE, last[:-1])[: len(at), None]
    # A row per copy, and a column per call before it, the latest first.
    call = at[:, None] - np.arange(1, 2 * LONGEST_LEAD + 1)
    names = family[np.maximum(call, 0)]
    near = np.logical_and.accumulate(np.isin(names, SHORT_KINDS) & (call > before), axis=1)
    computes = near & (names != FILL)
    nth = np.cumsum(computes, axis=1)
    of_nth = pd.Series(names[computes]).groupby(nth[computes]).agg(["size", "nunique"])
    alike = (of_nth["size"] == len(fetched)) & (of_nth["nunique"] == 1)
    length = np.logical_and.accumulate(alike.to_numpy()).sum()
    return np.sort(own[call[near & (nth > 0) & (nth <= length)]])


def selection_calls(subject: Subject, fetched: pd.DataFrame) -> Indices:
    """The calls of selections whose sizes are fetched, but for the copies and waits for these.

    That is boolean indexing, nonzero and unique, and the kernels that gather, write back or scatter
    by the indices, in the range of the selection and, of autograd, in backward. fetched: rows of
    fetched_numbers.
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
