"""Forward + backward timed by itself: what replaying it saves, and for how long it is idle."""

import pandas as pd

from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row, row_numbers

PHASE = "forward_backward"


def measure(timed: pd.DataFrame, steps: pd.DataFrame) -> Row:
    """Forward + backward of a case that was replayed as a CUDA graph; nothing of any other.

    From its rows of timings.csv and its own of ranges.csv, in ms: median_ms and replayed_median_ms,
    unprofiled, and saved_ms, what one takes less than the other. If it was captured, busy_ms, the
    device's work, and idle_ms, what remains of the unprofiled median beside it.
    """
    done = timed[timed["status"] == "ok"]
    if "replayed_median_ms" not in done or not done["replayed_median_ms"].notna().any():
        return {}
    median, replayed = (float(done[name].iloc[0]) for name in ("median_ms", "replayed_median_ms"))
    found = {"median_ms": median, "replayed_median_ms": replayed, "evidence": row_numbers(done)}
    found["saved_ms"] = max(0.0, median - replayed)
    if len(steps):
        busy = float(steps["busy_ms"].median())
        found |= {"busy_ms": busy, "idle_ms": max(0.0, median - busy)}
        found["work_evidence"] = row_numbers(steps)
    return found


def shares(found: Row, step_ms: float) -> Row:
    """What `measure` found, as shares of the whole training step."""
    names = {"replay_share": "saved_ms", "by_itself_share": "idle_ms"}
    return {name: found[ms] / step_ms for name, ms in names.items() if ms in found}


def facts_of(row: Row) -> list[Fact]:
    """The facts of one case, given its row of answer (f)."""
    found = row.get("replay", {})
    return (_saved(row, found) if found else []) + (_idle(row, found) if "idle_ms" in found else [])


def _saved(row: Row, found: Row) -> list[Fact]:
    case, rows = row["case"], found["evidence"]
    names = {name: f"{PHASE}/{name}" for name in ("median_ms", "replayed_median_ms")}
    facts = [Fact(case, said, found[name], "ms", "timings", rows) for name, said in names.items()]
    times = tuple(names.values())
    parts = ("replay/ms", "train_step/median_ms")
    facts.append(Fact(case, "replay/ms", found["saved_ms"], "ms", derived_from=times))
    return [*facts, Fact(case, "replay/share", row["replay_share"], "1", derived_from=parts)]


def _idle(row: Row, found: Row) -> list[Fact]:
    case, work = row["case"], f"{PHASE}/busy_ms"
    times = (f"{PHASE}/median_ms", work)
    parts = ("by_itself/ms", "train_step/median_ms")
    return [
        Fact(case, work, found["busy_ms"], "ms", "ranges", found["work_evidence"]),
        Fact(case, "by_itself/ms", found["idle_ms"], "ms", derived_from=times),
        Fact(case, "by_itself/share", row["by_itself_share"], "1", derived_from=parts),
    ]
