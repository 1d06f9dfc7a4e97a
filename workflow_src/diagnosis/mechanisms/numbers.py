"""Single numbers copied between host and device, and why."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.mechanisms import transfers
from workflow_src.diagnosis.recording import Edit, Mask
from workflow_src.diagnosis.subject import MANY, Subject, once, rows_of

SMALL = ("elementwise", "reduction", "optimizer")
LONGEST_LEAD = 6
"""Kernels that compute a number before it is fetched: isfinite and all are so many."""

USUAL_GAP = 0.25
"""The quantile of the gaps before copies of numbers in which the host makes one."""

SELECTION, OF_EACH, ITEM = "selection", "number_of_each_tensor", "item"
KERNELS = {
    # Count the elements of a mask, or sort and select the different ones, as torch.unique.
    "finds": r"DeviceReduce|DeviceSelect|DeviceCompact|RadixSort|MergeSort|DeviceScan|"
    r"adjacent_difference|scatter_kernel|arange|direct_copy",
    # Pick elements, after the host has fetched how many there are.
    "selects": r"DeviceSelect|DeviceCompact|write_indices|nonzero|masked_select|flag",
    # Read or write elements by their indices; last, of the gradient of what is read so.
    "reads": r"gather_kernel|index_elementwise|indexSelect|scatter_kernel|indexing_backward",
    "gradient": r"indexing_backward",
    # Compute or sort indices.
    "indices": r"RadixSort|elementwise_kernel_with_index|Functor<long",
}

BETWEEN = ("elementwise", "cast", "copy", "fill", "embedding", "indexing")
"""Families of kernels between a selection and what reads or writes by it."""

LONGEST = 64
"""Launches from a selection to what reads or writes by it, or in its gradient, at most."""

MOVING = ("copy", "fill")
"""Families of kernels that, just before one by index, make the tensor it writes to."""


@once
def fetched_numbers(subject: Subject) -> pd.DataFrame:
    """Copies of numbers to the host, with `reason`, a finding's key, and `place`, which for OF_EACH
    is their size; selected: whether a kernel that selects comes directly before, and none after."""
    numbers = transfers.of_size(subject, transfers.TO_HOST, 0, transfers.SMALL_BYTES)
    own = subject.own
    selects = np.append(matching(own["launched"], KERNELS["selects"]), [False] * 3)
    at, last = (np.searchsorted(rows_of(own), numbers[name]) for name in ("call", "last"))
    selects_after = selects[last[:, None] + [1, 2, 3]].any(axis=1)
    before = np.maximum(at - 1, 0)
    selected = selects[before] & ~selects_after
    computed = own["family"].to_numpy()[before] == "reduction"
    often = numbers["bytes"].where(computed).groupby(numbers["bytes"]).transform("count")
    of_each = computed & (often >= MANY * subject.step_count)
    reason = np.select([selects_after | selected, of_each], [SELECTION, OF_EACH], ITEM)
    place = transfers.folded(numbers["path"]).mask(of_each, numbers["bytes"])
    return numbers.assign(selected=selected, reason=reason, place=place)


def fetched(subject: Subject) -> Iterator[Finding]:
    """A number is copied to the host, which waits for it; but for an ITEM, what makes it goes."""
    for (reason, _), rows in fetched_numbers(subject).groupby(["reason", "place"]):
        edits = _not_copied(rows)
        if reason != ITEM:
            lead = (_leads if reason == OF_EACH else _selecting)(subject, rows)
            every = np.sort(np.concatenate([transfers.calls_of(rows), lead]))
            edits = [Edit(every, gap=0, cost=0, drops=True)]
        yield found(subject, str(reason), rows, *edits)


def sent_numbers(subject: Subject) -> Iterator[Finding]:
    """Numbers made on the host are sent to the device, one at a time, from pageable memory."""
    sent = transfers.of_size(subject, transfers.TO_DEVICE, 0, transfers.SMALL_BYTES)
    sent = sent[sent["wait"] != NOWHERE]
    for _, each in sent.groupby(transfers.folded(sent["path"])):
        calls = each["call"].to_numpy()
        gap = subject.calls["gap_ns"].loc[calls].to_numpy()
        left = 1 - np.minimum(np.quantile(gap, USUAL_GAP) / np.maximum(gap, 1), 1)
        made = Edit(calls, gap_factor=left)
        yield found(subject, "host_scalars", each, *_not_copied(each), made)


def _not_copied(copies: pd.DataFrame) -> list[Edit]:
    waits = np.setdiff1d(copies["wait"], [NOWHERE])
    return [Edit(transfers.calls_of(copies), cost=0, drops=True), Edit(waits, gap=0)]


def _leads(subject: Subject, copies: pd.DataFrame) -> Indices:
    """The calls directly before some copies that launch small kernels of the same families before
    each, and fills: they compute the number that is copied."""
    calls = subject.own[subject.own["family"] != "fill"]
    at = np.searchsorted(rows_of(calls), copies["call"])
    # A row per copy, and a column per call before it, the latest first.
    names = calls["family"].to_numpy()[np.maximum(at[:, None] - np.arange(1, LONGEST_LEAD + 1), 0)]
    alike = (np.isin(names, SMALL) & (names == names[0])).all(axis=0)
    before = np.append(NOWHERE, rows_of(calls))[at - np.logical_and.accumulate(alike).sum()]
    own = rows_of(subject.own)
    return own[Union.of(before + 1, copies["call"].to_numpy()).holds(own)]


def _selecting(subject: Subject, sizes: pd.DataFrame) -> Indices:
    """The calls of selections whose sizes (rows of fetched_numbers) are copied, but for the copies:
    those that select, gather, write back or scatter by the indices in the range of the selection
    and, of autograd, in backward."""
    calls = subject.own
    own, path = rows_of(calls), calls["path"].to_numpy()
    finds, selects, reads, gradient, indices = (
        matching(calls["launched"], pattern) for pattern in KERNELS.values()
    )
    between = calls["family"].isin(BETWEEN).to_numpy()
    # What is there for reading and writing by index alone.
    goes = reads | indices
    goes |= calls["family"].isin(MOVING).to_numpy() & np.append(goes[1:], False)
    rows: list[int] = []
    used = 0
    for call, last, selected in sizes[["call", "last", "selected"]].itertuples(index=False):
        at, end = np.searchsorted(own, [call, last]).tolist()
        first = end + 1 + _run(selects[end + 1 :])
        near = slice(first, first + LONGEST)
        near = slice(first, first + _run(between[near] & (path[near] == path[first - 1])))
        after = first + np.append(np.flatnonzero(reads[near]), NOWHERE).max() + 1
        # Without unique, its first use would read all elements instead of the different ones.
        by_index = first + np.flatnonzero(goes[first:after])[int(selected) :]
        rows += [*range(at - _run(finds[:at][::-1]), at), *range(end + 1, first), *by_index]
        used += bool(len(by_index))
    gradients = np.setdiff1d(np.flatnonzero(gradient), rows)
    for last in gradients.tolist() if len(gradients) <= used else ():
        begins = last + 1 - _run(between[max(last + 1 - LONGEST, 0) : last + 1][::-1])
        rows += [*begins + np.flatnonzero(goes[begins : last + 1])]
    return np.unique(own[rows])


def _run(holds: Mask) -> int:
    """How many hold before the first that doesn't."""
    return int(np.logical_and.accumulate(holds).sum())
