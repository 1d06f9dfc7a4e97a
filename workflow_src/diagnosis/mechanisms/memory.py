"""Device memory that is given back and fetched again in the steps."""

from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Found, Subject, common_path, mechanism, rows_of
from workflow_src.diagnosis.recording import ALLOCATE, FREE

OFTEN = 0.5
"""What comes in at least this share of steps is part of the loop, and no warm-up."""


def _found(subject: Subject, retried: bool) -> list[Found]:
    """Frees and allocations in runs, without other calls, that hold both of them, or one kind."""
    is_memory = subject.own["kind"].isin([ALLOCATE, FREE])
    calls = subject.own.assign(run=(~is_memory).cumsum())[is_memory]
    calls = calls[(calls.groupby("run")["kind"].transform("nunique") == 2) == retried]
    steps = calls.loc[calls["kind"] == FREE, "step"].nunique()
    if not len(calls) or steps < OFTEN * subject.step_count:
        return []
    rows = rows_of(calls)
    inside = rows_of(calls[calls["run"].duplicated()])
    took = (calls["end_ns"] - calls["start_ns"]).sum()
    where = common_path(calls.loc[calls["kind"] == FREE, "path_text"])
    changes = (Edit(rows, cost=0, drops=True), Edit(inside, gap=0))
    return [subject.found(where, len(calls), changes, took)]


@mechanism("empty_cache")
def find_emptied_caches(subject: Subject) -> list[Found]:
    """Steps free device memory and then fetch it again: torch.cuda.empty_cache()."""
    return _found(subject, retried=False)


@mechanism("allocator_retries")
def find_allocator_retries(subject: Subject) -> list[Found]:
    """An allocation fails, all that is cached is freed, and it is tried again."""
    return _found(subject, retried=True)
