"""Single numbers that are copied between host and device, which the host waits for, and why."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.mechanisms import transfers
from workflow_src.diagnosis.recording import Edit, Mask
from workflow_src.diagnosis.subject import MANY, Subject, once, rows_of

SHORT_KINDS = ("elementwise", "reduction", "fill", "copy", "optimizer")
"""Families of the small kernels that compute one number of a tensor."""

LONGEST_LEAD = 6
"""Activities that compute a number before it is fetched: isfinite and all take so many."""

TRUTH_BYTES = 1
"""What a single truth takes, as isfinite(...).all() gives."""

USUAL_GAP = 0.25
"""The quantile of the gaps before copies of numbers in which the host makes one."""

SELECTION, CHECK, OF_EACH, ITEM = "selection", "debug_checks", "number_of_each_tensor", "item"
"""Why a number is fetched: how much is selected, whether a result is right, what it is of each of
many tensors, or for no reason that one sees."""

KERNELS = {
    # Pick the elements of a mask, after the host has fetched how many there are; or the different
    # ones of a tensor, before that.
    "selects": r"DeviceSelect|DeviceCompact|write_indices|nonzero|masked_select|flag",
    # By which torch.unique sorts a tensor and selects from it.
    "sorts": r"DeviceSelect|DeviceCompact|RadixSort|MergeSort|DeviceScan|adjacent_difference|"
    r"scatter_kernel|arange|direct_copy",
    # Count the elements of a mask.
    "counts": r"DeviceReduce",
    # Read or write elements by their indices; the last one of the gradient of what is read so.
    "reads": r"gather_kernel|index_elementwise|indexSelect|scatter_kernel|indexing_backward",
    "gradient": r"indexing_backward",
    # Compute or sort indices.
    "indices": r"RadixSort|elementwise_kernel_with_index|Functor<long",
}

BETWEEN = ("elementwise", "cast", "copy", "fill", "embedding", "indexing")
"""Families of kernels between a selection and what reads or writes by it."""

LONGEST = 64
"""Launches from a selection to what reads or writes by it, or in a gradient of that, at most."""

MOVING = ("copy", "fill")
"""Families of kernels that, just before one by index, make the tensor that it writes to."""


@once
def fetched_numbers(subject: Subject) -> pd.DataFrame:
    """Copies of numbers to the host, with `reason`: one of the four above.

    selected: whether a kernel that selects comes directly before, and none after.
    """
    numbers = transfers.of_size(subject, transfers.TO_HOST, 0, transfers.SMALL_BYTES)
    own = subject.own
    selects = np.append(matching(own["launched"], KERNELS["selects"]), [False] * 3)
    at, last = (np.searchsorted(rows_of(own), numbers[name]) for name in ("call", "last"))
    selects_after = selects[last[:, None] + [1, 2, 3]].any(axis=1)
    before = np.maximum(at - 1, 0)
    selected = selects[before] & ~selects_after
    computed = own["family"].to_numpy()[before] == "reduction"
    is_check = (numbers["bytes"] == TRUTH_BYTES) & computed
    holds = [selects_after | selected, is_check, computed]
    reason = pd.Series(np.select(holds, [SELECTION, CHECK, OF_EACH], ITEM), numbers.index, object)
    often = reason.groupby(reason).transform("size") >= MANY * subject.step_count
    reason[reason.isin([CHECK, OF_EACH]) & ~often] = ITEM
    return numbers.assign(selected=selected, reason=reason)


def check_calls(subject: Subject) -> Indices:
    """The calls that check results: what computes truths, and the copies and waits of these."""
    numbers = fetched_numbers(subject)
    checks = numbers[numbers["reason"] == CHECK]
    return np.concatenate([_leads(subject, checks), transfers.calls_of(checks)])


def fetched(subject: Subject) -> Iterator[Finding]:
    """A number is copied to the host, which waits for it.

    item: .item(), print, float(); selection: for the size of what is selected, by a boolean index,
    nonzero or unique; number_of_each_tensor: computed for each by itself, as norms of gradients;
    debug_checks: whether each of many tensors is finite. Without it what computes the number goes,
    too, with the host's time before all of these calls, but for an item.
    """
    for reason, rows in fetched_numbers(subject).groupby("reason"):
        for each in [rows] if reason == CHECK else transfers.by_place(rows):
            edits = _not_copied(each)
            if reason != ITEM:
                lead = (_selecting if reason == SELECTION else _leads)(subject, each)
                every = np.sort(np.concatenate([transfers.calls_of(each), lead]))
                edits = [Edit(every, gap=0, cost=0, drops=True)]
            yield found(subject, str(reason), each, *edits)


def sent_numbers(subject: Subject) -> Iterator[Finding]:
    """Numbers made on the host are sent to the device, one at a time, from pageable memory.

    A usual gap before such a copy goes, in which the host makes it; longer ones hold what it does
    besides.
    """
    sent = transfers.of_size(subject, transfers.TO_DEVICE, 0, transfers.SMALL_BYTES)
    for each in transfers.by_place(sent[sent["wait"] != NOWHERE]):
        calls = each["call"].to_numpy()
        gap = subject.calls["gap_ns"].loc[calls].to_numpy()
        left = 1 - np.minimum(np.quantile(gap, USUAL_GAP) / np.maximum(gap, 1), 1)
        made = Edit(calls, gap_factor=left)
        yield found(subject, "host_scalars", each, *_not_copied(each), made)


def _not_copied(copies: pd.DataFrame) -> list[Edit]:
    """The edits by which some transfers, and the waits for them, don't happen."""
    waits = np.setdiff1d(copies["wait"], [NOWHERE])
    return [Edit(transfers.calls_of(copies), cost=0, drops=True), Edit(waits, gap=0)]


def _leads(subject: Subject, copies: pd.DataFrame) -> Indices:
    """The calls, directly before all of some copies, whose work computes the number that is copied.

    They launch small kernels of the same families before each of the copies, between fills if need
    be, and come after the copy before it.
    """
    own, family = rows_of(subject.own), subject.own["family"].to_numpy()
    at, last = (np.searchsorted(own, copies[name]) for name in ("call", "last"))
    before = np.append(NOWHERE, last[:-1])[: len(at), None]
    # A row per copy, and a column per call before it, the latest first.
    call = at[:, None] - np.arange(1, 2 * LONGEST_LEAD + 1)
    names = family[np.maximum(call, 0)]
    near = np.logical_and.accumulate(np.isin(names, SHORT_KINDS) & (call > before), axis=1)
    computes = near & (names != "fill")
    nth = np.cumsum(computes, axis=1)
    of_nth = pd.Series(names[computes]).groupby(nth[computes]).agg(["size", "nunique"])
    alike = (of_nth["size"] == len(copies)) & (of_nth["nunique"] == 1)
    length = np.logical_and.accumulate(alike.to_numpy()).sum()
    return np.sort(own[call[near & (nth > 0) & (nth <= length)]])


def _selecting(subject: Subject, sizes: pd.DataFrame) -> Indices:
    """The calls of selections whose sizes are fetched, but for the copies and waits for these.

    That is boolean indexing, nonzero and unique, and the kernels that gather, write back or scatter
    by the indices, in the range of the selection and, of autograd, in backward. sizes: rows of
    fetched_numbers.
    """
    calls = subject.own
    own, path = rows_of(calls), calls["path"].to_numpy()
    kernels = {name: matching(calls["launched"], pattern) for name, pattern in KERNELS.items()}
    between, reads = calls["family"].isin(BETWEEN).to_numpy(), kernels["reads"]
    # What is there for reading and writing by index alone.
    goes = reads | kernels["indices"]
    goes |= calls["family"].isin(MOVING).to_numpy() & np.append(goes[1:], False)
    rows: list[int] = []
    used = 0
    for call, last, selected in sizes[["call", "last", "selected"]].itertuples(index=False):
        at, end = np.searchsorted(own, [call, last]).tolist()
        before, first = kernels["sorts" if selected else "counts"][:at], end + 1
        first += 0 if selected else _run(kernels["selects"][first:])
        near = slice(first, first + LONGEST)
        near = slice(first, first + _run(between[near] & (path[near] == path[first - 1])))
        read_later = np.logical_or.accumulate(reads[near][::-1])[::-1]
        by_index = first + np.flatnonzero(goes[near] & read_later)
        # Without unique, its first use would read all elements instead of the different ones.
        by_index = by_index[int(selected) :]
        rows += [*range(at - _run(before[::-1]), at), *range(end + 1, first), *by_index]
        used += bool(len(by_index))
    gradients = np.setdiff1d(np.flatnonzero(kernels["gradient"]), rows)
    for last in gradients.tolist() if len(gradients) <= used else ():
        begins = last + 1 - _run(between[max(last + 1 - LONGEST, 0) : last + 1][::-1])
        rows += [*begins + np.flatnonzero(goes[begins : last + 1])]
    return np.unique(own[rows])


def _run(holds: Mask) -> int:
    """How many hold before the first that doesn't."""
    return int(np.logical_and.accumulate(holds).sum())
