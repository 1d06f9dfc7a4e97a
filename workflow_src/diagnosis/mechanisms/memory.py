"""Device memory that is given back and fetched again in the steps."""

import pandas as pd

from workflow_src.diagnosis.changes import DropCall, DropGap
from workflow_src.diagnosis.finding import Found, Subject, common_path, mechanism, rows_of
from workflow_src.diagnosis.recording import ALLOCATE, FREE

OFTEN = 0.5
"""What comes in at least this share of steps is part of the loop, and no warm-up."""


def _memory_calls(subject: Subject) -> pd.DataFrame:
    """Frees and allocations, with `run`: a number of each run of them without other calls."""
    calls = subject.own
    is_memory = calls["kind"].isin([ALLOCATE, FREE])
    return calls.assign(run=(~is_memory).cumsum())[is_memory]


def _retried(calls: pd.DataFrame) -> "pd.Series[bool]":
    """Which calls are of runs that both free and allocate: an allocation was retried."""
    return calls.groupby("run")["kind"].transform("nunique") == 2


def _found(subject: Subject, calls: pd.DataFrame) -> list[Found]:
    steps = calls.loc[calls["kind"] == FREE, "step"].nunique()
    if not len(calls) or steps < OFTEN * subject.step_count:
        return []
    rows = rows_of(calls)
    inside = rows_of(calls[calls["run"].duplicated()])
    took = (calls["end_ns"] - calls["start_ns"]).sum()
    where = common_path(calls.loc[calls["kind"] == FREE, "path_text"])
    return [subject.found(where, len(calls), (DropCall(rows), DropGap(inside)), took)]


@mechanism("empty_cache")
def find_emptied_caches(subject: Subject) -> list[Found]:
    """Steps free device memory and then fetch it again: torch.cuda.empty_cache()."""
    calls = _memory_calls(subject)
    return _found(subject, calls[~_retried(calls)])


@mechanism("allocator_retries")
def find_allocator_retries(subject: Subject) -> list[Found]:
    """An allocation fails, all that is cached is freed, and it is tried again."""
    calls = _memory_calls(subject)
    return _found(subject, calls[_retried(calls)])
