"""Which call launched a device activity: by the number that the profiler gave to both."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import UNKNOWN
from workflow_src.common.intervals import Indices, Integers

NO_NUMBER = "the profiler recorded no number that leads to its launch"
NO_CALLS = "the capture has no API call of its process"
BEFORE = "it was launched before the first API call of the capture"
NO_CALL = "its launch is not in the capture"
SHARED = "its launch has the number of launches in other processes"

_BITS = 40
"""Numbers of launches have 32 bits; a larger one isn't valid."""


@dataclass(frozen=True)
class Calls:
    """API calls: start and end (ns), process, thread and number of each."""

    start: Indices
    end: Indices
    process: Integers
    thread: Integers
    number: Integers


@dataclass(frozen=True)
class Launches:
    """For each activity: start, end (ns) and thread of its launch, or UNKNOWN, and why (or "")."""

    start: Indices
    end: Indices
    thread: Indices
    missing: npt.NDArray[np.object_]


def launches(process: Indices, number: Indices, calls: Calls) -> Launches:
    """The launch of each activity: the first call of its process with its number."""
    known = np.sort(pd.unique(calls.process))
    call = _first_calls(known, process, number, calls)
    found, call = call != UNKNOWN, call[call != UNKNOWN]
    start, end, thread = (np.full(len(process), UNKNOWN) for _ in range(3))
    start[found], end[found], thread[found] = calls.start[call], calls.end[call], calls.thread[call]
    missing = np.full(len(process), "", dtype=object)
    missing[~found] = _why(known, process[~found], number[~found], calls)
    return Launches(start, end, thread, missing)


def that_launched(process: Indices, number: Indices, calls: Calls) -> npt.NDArray[np.bool_]:
    """Which calls have the number of one of these activities of their process."""
    if not len(number):
        return np.zeros(len(calls.start), dtype=bool)
    known = np.sort(pd.unique(calls.process))
    keys = _keys(known, calls.process, calls.number)
    return np.asarray(np.isin(keys, _keys(known, process, number)) & (keys != UNKNOWN))


def _first_calls(known: Indices, process: Indices, number: Indices, calls: Calls) -> Indices:
    """The row of the first call of each process with this number, or UNKNOWN.

    A driver call inside a runtime call may have its number, too; the outer one starts first.
    """
    if not len(known):
        return np.full(len(process), UNKNOWN)
    keys = _keys(known, calls.process, calls.number)
    order = np.lexsort((calls.start, keys))
    wanted = _keys(known, process, number)
    call = order.take(np.searchsorted(keys, wanted, sorter=order), mode="clip")
    call[(wanted == UNKNOWN) | (keys[call] != wanted)] = UNKNOWN
    return call


def _keys(known: Integers, process: Integers, number: Integers) -> Indices:
    """One number for a process of `known` and a launch's number; UNKNOWN if either isn't valid."""
    if not len(known):
        return np.full(len(process), UNKNOWN)
    keys = np.minimum(np.searchsorted(known, process), len(known) - 1)
    valid = (known[keys] == process) & (number > 0) & (number < 2**_BITS)
    keys <<= _BITS
    keys += number
    keys[~valid] = UNKNOWN
    return keys


def _why(known: Indices, process: Indices, number: Indices, calls: Calls) -> npt.NDArray[np.str_]:
    """Why an activity's launch isn't known, if it isn't."""
    first = np.full(len(process), np.iinfo(np.int64).max)
    for one in known:
        numbers = calls.number[(calls.process == one) & (calls.number > 0)]
        if len(numbers):
            first[process == one] = numbers.min()
    conditions = [number <= 0, ~np.isin(process, known), number < first]
    return np.select(conditions, [NO_NUMBER, NO_CALLS, BEFORE], NO_CALL)
