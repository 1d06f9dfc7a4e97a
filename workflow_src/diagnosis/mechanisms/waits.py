"""The host waits for the device to fetch a number, or for no reason at all."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.changes import DropCall, DropGap, DropSynchronization, ScaleGap
from workflow_src.diagnosis.copies_table import (
    SMALL_BYTES,
    TO_DEVICE,
    TO_HOST,
    leads,
    of_size,
    transfers,
)
from workflow_src.diagnosis.finding import NUMBER, Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.host_gaps import LOW
from workflow_src.diagnosis.recording import SYNCHRONIZE
from workflow_src.diagnosis.selections import SELECTING, selection_calls

TRUTH_BYTES = 1
"""What a single truth takes, as isfinite(...).all() gives."""

MANY = 8
"""A number that is fetched so often a step from one place is one of many, as of each parameter."""

SELECTION, CHECK, OF_EACH, OTHER = range(4)


def _numbers(subject: Subject) -> pd.DataFrame:
    """Copies of numbers to the host, with `reason`: one of the four above.

    selected: whether a kernel that selects comes directly before, and none after.
    """
    found = of_size(subject, TO_HOST, 0, SMALL_BYTES).copy()
    own, family, launched = rows_of(subject.own), subject.own["family"], subject.own["launched"]
    at = np.searchsorted(own, found["last"].to_numpy(dtype=np.int64))
    after = [" ".join(launched.iloc[n + 1 : n + 4]) for n in at.tolist()]
    selects = pd.Series(after, index=found.index, dtype=object).str.contains(SELECTING)
    before = np.searchsorted(own, found["call"].to_numpy(dtype=np.int64)) - 1
    last = np.maximum(before, 0)
    computed = family.to_numpy()[last] == "reduction"
    selected = matching(launched, SELECTING)[last]
    found["selected"] = selected & ~selects.to_numpy(dtype=bool)
    checks = (found["bytes"] == TRUTH_BYTES) & computed
    reason = np.select(
        [selects | found["selected"], checks, computed], [SELECTION, CHECK, OF_EACH], OTHER
    )
    found["reason"] = reason
    often = found.groupby("reason")["call"].transform("size") >= MANY * subject.step_count
    alone = found["reason"].isin([CHECK, OF_EACH]) & ~often
    found.loc[alone, "reason"] = OTHER
    return found


def _without(subject: Subject, fetched: pd.DataFrame, lead: Indices | None = None) -> Found:
    """Some fetched numbers as one place, without their copies, waits and what computes them.

    lead: the calls that do, if they go, too.
    """
    waits = fetched.loc[fetched["wait"] != NOWHERE, "wait"].to_numpy(dtype=np.int64)
    parts = [fetched["call"].to_numpy(dtype=np.int64), waits, *([] if lead is None else [lead])]
    calls = np.sort(np.concatenate(parts))
    between = waits if lead is None else calls
    changes, times = (DropCall(calls), DropGap(between)), fetched[["host_ns", "device_ns"]].sum()
    return subject.found_in(fetched, changes, *times)


def _places(fetched: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each path, of which those that differ in numbers alone are one."""
    folded = fetched["path_text"].str.replace(NUMBER, "", regex=True)
    return [each for _, each in fetched.groupby(folded)]


@mechanism("item")
def find_items(subject: Subject) -> list[Found]:
    """A number is copied to the host, which waits for it: .item(), print, float()."""
    numbers = subject.cached(_numbers)
    return [_without(subject, each) for each in _places(numbers[numbers.reason == OTHER])]


@mechanism("selection")
def find_selections(subject: Subject) -> list[Found]:
    """The host waits for the size of what is selected: boolean indexing, nonzero, unique."""
    numbers = subject.cached(_numbers)
    places = _places(numbers[numbers.reason == SELECTION])
    return [_without(subject, each, selection_calls(subject, each)) for each in places]


@mechanism("number_of_each_tensor")
def find_numbers_of_each_tensor(subject: Subject) -> list[Found]:
    """A number of each of many tensors is computed and fetched by itself: norms of gradients."""
    numbers = subject.cached(_numbers)
    found = _places(numbers[numbers.reason == OF_EACH])
    return [_without(subject, each, leads(subject, each)) for each in found]


@mechanism("debug_checks")
def find_debug_checks(subject: Subject) -> list[Found]:
    """A truth about each of many tensors is fetched: isnan or isfinite after operations."""
    numbers = subject.cached(_numbers)
    checks = numbers[numbers.reason == CHECK]
    return [_without(subject, checks, leads(subject, checks))] if len(checks) else []


@mechanism("host_scalars")
def find_host_scalars(subject: Subject) -> list[Found]:
    """Numbers made on the host are sent to the device, one at a time, from pageable memory."""
    sent = of_size(subject, TO_DEVICE, 0, SMALL_BYTES)
    awaited = sent[sent["wait"] != NOWHERE]
    return [_not_made(subject, each, _without(subject, each)) for each in _places(awaited)]


def _not_made(subject: Subject, sent: pd.DataFrame, place: Found) -> Found:
    """The same without the host's time to make each number: a usual gap before such a copy.

    Longer ones hold what the host does besides.
    """
    calls = sent["call"].to_numpy(dtype=np.int64)
    gap = subject.calls["gap_ns"].loc[calls].to_numpy()
    left = 1 - np.minimum(np.quantile(gap, LOW) / np.maximum(gap, 1), 1)
    return replace(place, changes=(*place.changes, ScaleGap(calls, left)))


@mechanism("synchronize")
def find_synchronizations(subject: Subject) -> list[Found]:
    """The host waits for the device, and copies nothing."""
    waits = subject.own[subject.own["kind"] == SYNCHRONIZE]
    waits = waits[~waits.index.isin(subject.cached(transfers)["wait"])]
    return [
        subject.found_in(
            each,
            (DropSynchronization(rows_of(each)),),
            (each["end_ns"] - each["start_ns"]).sum(),
        )
        for each in _places(waits)
    ]
