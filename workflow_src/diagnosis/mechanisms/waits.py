"""The host waits for the device to fetch a number, or for no reason at all."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.copies_table import SMALL_BYTES, TO_DEVICE, leads, of_size, transfers
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.fetched_numbers import (
    CHECK,
    OF_EACH,
    OTHER,
    SELECTION,
    fetched_numbers,
)
from workflow_src.diagnosis.finding import NUMBER, Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.host_gaps import LOW
from workflow_src.diagnosis.recording import SYNCHRONIZE
from workflow_src.diagnosis.selections import selection_calls


def _without(subject: Subject, fetched: pd.DataFrame, lead: Indices | None = None) -> Found:
    """Some fetched numbers as one place, without their copies, waits and what computes them.

    lead: the calls that do, if they go, too.
    """
    waits = fetched.loc[fetched["wait"] != NOWHERE, "wait"].to_numpy(dtype=np.int64)
    parts = [fetched["call"].to_numpy(dtype=np.int64), waits, *([] if lead is None else [lead])]
    calls = np.sort(np.concatenate(parts))
    between = waits if lead is None else calls
    changes = (Edit(calls, cost=0, drops=True), Edit(between, gap=0))
    times = fetched[["host_ns", "device_ns"]].sum()
    return subject.found_in(fetched, changes, *times)


def _places(fetched: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each path, of which those that differ in numbers alone are one."""
    folded = fetched["path_text"].str.replace(NUMBER, "", regex=True)
    return [each for _, each in fetched.groupby(folded)]


@mechanism("item")
def find_items(subject: Subject) -> list[Found]:
    """A number is copied to the host, which waits for it: .item(), print, float()."""
    numbers = subject.cached(fetched_numbers)
    return [_without(subject, each) for each in _places(numbers[numbers.reason == OTHER])]


@mechanism("selection")
def find_selections(subject: Subject) -> list[Found]:
    """The host waits for the size of what is selected: boolean indexing, nonzero, unique."""
    numbers = subject.cached(fetched_numbers)
    places = _places(numbers[numbers.reason == SELECTION])
    return [_without(subject, each, selection_calls(subject, each)) for each in places]


@mechanism("number_of_each_tensor")
def find_numbers_of_each_tensor(subject: Subject) -> list[Found]:
    """A number of each of many tensors is computed and fetched by itself: norms of gradients."""
    numbers = subject.cached(fetched_numbers)
    found = _places(numbers[numbers.reason == OF_EACH])
    return [_without(subject, each, leads(subject, each)) for each in found]


@mechanism("debug_checks")
def find_debug_checks(subject: Subject) -> list[Found]:
    """A truth about each of many tensors is fetched: isnan or isfinite after operations."""
    numbers = subject.cached(fetched_numbers)
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
    return replace(place, changes=(*place.changes, Edit(calls, gap_factor=left)))


@mechanism("synchronize")
def find_synchronizations(subject: Subject) -> list[Found]:
    """The host waits for the device, and copies nothing."""
    waits = subject.own[subject.own["kind"] == SYNCHRONIZE]
    waits = waits[~waits.index.isin(subject.cached(transfers)["wait"])]
    return [
        subject.found_in(
            each,
            (Edit(rows_of(each), cost=0),),
            (each["end_ns"] - each["start_ns"]).sum(),
        )
        for each in _places(waits)
    ]
