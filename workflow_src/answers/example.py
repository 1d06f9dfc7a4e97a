"""The one case that all answers work through, so that a reader can follow it from (a) to (f)."""

from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.case import PHASES

TABLES = ("timings", "captures")
"""What the choice is made from: inputs of every question."""


def example(tables: Tables) -> CaseKey | None:
    """The case to work through; None if no case is complete.

    Complete are cases whose phases were all timed and whose capture holds device activity. Of
    these, cases with attention written out come first, then those with a replay, then the nearest
    to the middle of the sizes and of the contexts, the smaller of two; the last precision of all.
    """
    complete = [case for case in tables.cases if _is_complete(tables, case)]
    if not complete:
        return None
    sizes = list(dict.fromkeys(case.size for case in tables.cases))
    contexts = sorted({case.context for case in tables.cases})
    precisions = list(dict.fromkeys(case.precision for case in tables.cases))

    def rank(case: CaseKey) -> tuple[float, ...]:
        off = (
            abs(sizes.index(case.size) - (len(sizes) - 1) / 2),
            abs(contexts.index(case.context) - (len(contexts) - 1) / 2),
        )
        first = (case.attention != "naive", not _was_replayed(tables, case))
        return (*first, *off, -precisions.index(case.precision))

    return min(complete, key=rank)


def _is_complete(tables: Tables, case: CaseKey) -> bool:
    """Whether every phase was timed, and the capture holds device activity."""
    timed = tables.of("timings", case.case)
    ok = set(timed.loc[timed["status"] == "ok", "phase"])
    return ok >= set(PHASES) and bool(tables.of("captures", case.case)["total_ns"].sum() > 0)


def _was_replayed(tables: Tables, case: CaseKey) -> bool:
    timed = tables.of("timings", case.case)
    return "replay_status" in timed and bool((timed["replay_status"] == "ok").any())
