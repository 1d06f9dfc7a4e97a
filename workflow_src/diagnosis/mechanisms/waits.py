"""The host waits for the device: to fetch or send a number, for memory or code, or for nothing."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Finding, found, kind
from workflow_src.diagnosis.host_gaps import LOW
from workflow_src.diagnosis.recording import ALLOCATE, FREE, SYNCHRONIZE
from workflow_src.diagnosis.subject import MOST, NUMBER, Subject, common_path, rows_of
from workflow_src.diagnosis.transfers import (
    CHECK,
    ITEM,
    SELECTION,
    SMALL_BYTES,
    TO_DEVICE,
    calls_of,
    fetched_numbers,
    leads,
    of_size,
    selection_calls,
    transfers,
)


def _without(
    subject: Subject, key: str, copies: pd.DataFrame, lead: Indices | None, *more: Edit
) -> Finding:
    """Some transfers as one place, without their calls, waits and what computes them.

    lead: the calls that do, if they go, too, with the host's time before all of them.
    """
    calls, waits = calls_of(copies), np.setdiff1d(copies["wait"], [NOWHERE])
    edits = [Edit(calls, cost=0, drops=True), Edit(waits, gap=0)]
    if lead is not None:
        edits = [Edit(np.sort(np.concatenate([calls, lead])), gap=0, cost=0, drops=True)]
    return found(subject, key, copies, *edits, *more)


def _places(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each path, of which those that differ in numbers alone are one."""
    folded = rows["path_text"].str.replace(NUMBER, "", regex=True)
    return [each for _, each in rows.groupby(folded)]


@kind
def fetched(subject: Subject) -> Iterator[Finding]:
    """A number is copied to the host, which waits for it.

    item: .item(), print, float(); selection: for the size of what is selected, by a boolean index,
    nonzero or unique; number_of_each_tensor: computed for each by itself, as norms of gradients;
    debug_checks: whether each of many tensors is finite.
    """
    numbers = fetched_numbers(subject)
    of_reason = {str(key): rows for key, rows in numbers.groupby("reason")}
    for key, rows in of_reason.items():
        for each in [rows] if key == CHECK else _places(rows):
            lead = {ITEM: None, SELECTION: selection_calls}.get(key, leads)
            yield _without(subject, key, each, lead and lead(subject, each))


@kind
def sent_numbers(subject: Subject) -> Iterator[Finding]:
    """Numbers made on the host are sent to the device, one at a time, from pageable memory.

    A usual gap before such a copy goes, in which the host makes it; longer ones hold what it does
    besides.
    """
    sent = of_size(subject, TO_DEVICE, 0, SMALL_BYTES)
    for each in _places(sent[sent["wait"] != NOWHERE]):
        calls = each["call"].to_numpy()
        gap = subject.calls["gap_ns"].loc[calls].to_numpy()
        left = 1 - np.minimum(np.quantile(gap, LOW) / np.maximum(gap, 1), 1)
        yield _without(subject, "host_scalars", each, None, Edit(calls, gap_factor=left))


@kind
def synchronizations(subject: Subject) -> Iterator[Finding]:
    """The host waits for the device, and copies nothing."""
    waits = subject.own[subject.own["kind"] == SYNCHRONIZE]
    for each in _places(waits[~waits.index.isin(transfers(subject)["wait"])]):
        edit = Edit(rows_of(each), cost=0)
        yield found(subject, "synchronize", each, edit)


@kind
def memory(subject: Subject) -> Iterator[Finding]:
    """Device memory is freed and fetched again, as by torch.cuda.empty_cache()."""
    is_memory = subject.own["kind"].isin([ALLOCATE, FREE])
    calls = subject.own.assign(run=(~is_memory).cumsum())[is_memory]
    freed = calls[calls["kind"] == FREE]
    if freed["step"].nunique() >= MOST * subject.step_count:  # Of few steps it is warm-up.
        again = calls[calls["run"].duplicated()]
        edits = Edit(rows_of(calls), cost=0, drops=True), Edit(rows_of(again), gap=0)
        where = common_path(freed["path_text"])
        yield found(subject, "empty_cache", calls, *edits, where=where)
