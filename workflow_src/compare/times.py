"""Unprofiled times of two runs: the ratio of each phase, how sure it is, and the verdict."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_src.common.case import PHASES
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.compare.environments import warned
from workflow_src.compare.rank_test import holm, mann_whitney, smallest_p
from workflow_src.compare.resampling import (
    Floats,
    geometric_mean,
    interval,
    interval_of_extremes,
    resampled_ratios,
)
from workflow_src.compare.rows import Row, cases_of, of
from workflow_src.compare.runs import Run, Timed, status_of, timed

ALPHA = 0.005
"""The chance that a comparison of two equal runs finds any difference, over all its phases.

A gate that fails without a cause more often than once in a hundred runs is soon ignored; half of
that leaves room for what no test knows of.
"""

THRESHOLD = 0.01
"""Smaller changes of a phase's time don't matter, unless another threshold is given.

Device time repeats within 1 % from one H200 host to another.
"""

WIDEST = 0.05
"""An interval that reaches further than this from 1 is too wide to say that nothing changed."""

SLOWER, FASTER, SAME, UNKNOWN = "slower", "faster", "no difference shown", "can't tell"
VERDICTS = (SLOWER, FASTER, SAME, UNKNOWN)

ONE, FEW, WARNED, SPREAD = (
    *("one process", "too few processes"),
    *("measured with a warning", "too much spread"),
)
"""Why a phase has no verdict."""

TOO_FEW = (ONE, FEW)
"""Reasons that go away with more processes."""

BOUNDS = ("device", "cpu", "launch", "unknown")
"""What bounds a phase: device work (on a CPU, where nothing is launched, its own work), launches,
or unknown where nothing was captured."""


@dataclass(frozen=True)
class Evidence:
    """What is known of the ratio of two times: B / A.

    basis: "processes" (their raw samples), "extremes" (only the fastest and slowest process),
    "steps" (of one process) or "medians" (nothing but these).
    """

    basis: str
    ratio: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    smallest: float = 1.0
    """The smallest p that so many processes can give."""


def ratio_of(case: str, a: Timed, b: Timed) -> tuple[Evidence, Floats | None]:
    """The ratio of two times, and its resampled values if there are raw samples."""
    ratio = b.median_ms / a.median_ms
    several = min(a.processes, b.processes) > 1
    smallest = smallest_p(a.processes, b.processes) if several else 1.0
    if a.medians_ms and b.medians_ms:
        drawn = resampled_ratios(a.medians_ms, b.medians_ms, case)
        low, high = interval(drawn)
        p = mann_whitney(a.medians_ms, b.medians_ms) if several else math.nan
        basis = "processes" if several else "steps"
        return Evidence(basis, ratio, low, high, p, smallest), drawn
    if several:
        return _from_extremes(ratio, a, b, smallest), None
    return Evidence("medians", ratio), None


def _from_extremes(ratio: float, a: Timed, b: Timed, smallest: float) -> Evidence:
    """All that tables tell: whether all processes of one run were slower than all of the other."""
    apart = b.fastest_ms > a.slowest_ms or a.fastest_ms > b.slowest_ms
    ours, theirs = ((run.fastest_ms, run.slowest_ms) for run in (a, b))
    found = interval_of_extremes(ours, theirs, a.processes, b.processes)
    low, high = found or (math.nan, math.nan)
    return Evidence("extremes", ratio, low, high, smallest if apart else 1.0, smallest)


def bound_by(run: Run, case: str, phase: str, time: Timed) -> str:
    """What bounds a phase of one run, from its device time and its unprofiled time.

    The profiled time would not do: the profiler makes launching slower.
    """
    if on_cpu(run, case):
        return "cpu"
    busy = device_steps(run, case, phase)
    if not len(busy):
        return "unknown"
    share = float(np.median(busy)) / time.median_ms
    return "launch" if share < LAUNCH_BOUND_BELOW else "device"


def on_cpu(run: Run, case: str) -> bool:
    """Whether a run measured a case on a CPU."""
    return bool((of(run.tables["timings"], case)["device"] == "cpu").all())


def device_steps(run: Run, case: str, phase: str) -> Floats:
    """Device time (ms) of each captured step of a phase; empty if it wasn't captured."""
    rows = of(run.tables["ranges"], case, phase)
    busy: Floats = rows.loc[rows["path"] == phase, "busy_ms"].to_numpy(dtype=np.float64)
    return busy[busy > 0]


def both(a: Run, b: Run, but: Iterable[str] = ()) -> list[Row]:
    """The cases in the timings of both runs, without those named in `but`."""
    theirs = {case["case"] for case in cases_of(b.tables["timings"])} - set(but)
    return [case for case in cases_of(a.tables["timings"]) if case["case"] in theirs]


def compared(a: Run, b: Run, cases: Iterable[Row], threshold: float) -> list[Row]:
    """A row per case and phase that ran in both: ratio, interval, p, and the verdict."""
    rows = [row for case in cases for row in _phases(a, b, case)]
    doubted = {case for run in (a, b) for case in warned(run, [row["case"] for row in rows])}
    rows = [row | {"warned": row["case"] in doubted} for row in rows]
    tested = [row for row in rows if not math.isnan(row["p"])]
    corrected = holm([row["p"] for row in tested])
    for row, adjusted in zip(tested, corrected, strict=True):
        row["adjusted"] = adjusted
    return [row | judged(row, len(tested), threshold) for row in rows]


def _phases(a: Run, b: Run, case: Row) -> Iterable[Row]:
    for phase in PHASES:
        mine, theirs = timed(a, case["case"], phase), timed(b, case["case"], phase)
        if mine is None or theirs is None:
            continue
        found, drawn = ratio_of(case["case"], mine, theirs)
        bounds = {bound_by(run, case["case"], phase, t) for run, t in ((a, mine), (b, theirs))}
        bound = next(word for word in ("launch", "unknown", "cpu", "device") if word in bounds)
        times = {"a_ms": mine.median_ms, "b_ms": theirs.median_ms}
        counts = {"a_processes": mine.processes, "b_processes": theirs.processes}
        about = {"phase": phase, "bound": bound, "adjusted": math.nan, "drawn": drawn}
        yield case | about | times | counts | vars(found)


def judged(row: Row, tests: int, threshold: float) -> dict[str, str]:
    """The verdict on one row, and why it can't be told.

    A case measured with a warning gets none: processes that follow each other on a busy machine
    have its load in common, so that they differ from those of another time without a cause.
    """
    if row["warned"] and not math.isnan(row["p"]):
        return {"verdict": UNKNOWN, "why": WARNED}
    shown = row["adjusted"] < ALPHA
    if shown and row["ratio"] > 1 + threshold:
        return {"verdict": SLOWER, "why": ""}
    if shown and row["ratio"] < 1 / (1 + threshold):
        return {"verdict": FASTER, "why": ""}
    why = _doubt(row, tests, max(WIDEST, threshold))
    return {"verdict": UNKNOWN if why else SAME, "why": why}


def _doubt(row: Row, tests: int, widest: float) -> str:
    """Why a row can't be said to be the same; "" if it can."""
    if math.isnan(row["p"]):
        return ONE
    if row["smallest"] * tests >= ALPHA or math.isnan(row["low"]):
        return FEW
    known = row["low"] >= 1 / (1 + widest) and row["high"] <= 1 + widest
    return "" if known else SPREAD


def fewest_processes(tests: int) -> int:
    """How many processes each run needs, if both have as many, for any of `tests` to be shown."""
    return next(n for n in range(2, 1000) if smallest_p(n, n) * tests < ALPHA)


def not_in_both(a: Run, b: Run, cases: Iterable[Row]) -> list[Row]:
    """Phases of `cases` that ran in one run only, with each run's status."""
    rows = []
    for case in cases:
        for phase in PHASES:
            words = [status_of(run, case["case"], phase) or "not planned" for run in (a, b)]
            if (words[0] == "ok") != (words[1] == "ok"):
                rows.append(case | {"phase": phase, "a_status": words[0], "b_status": words[1]})
    return rows


def summaries(rows: Sequence[Row]) -> list[Row]:
    """A row per bound and phase, and per bound for all phases ("")."""
    found = []
    for bound in BOUNDS:
        mine = [row for row in rows if row["bound"] == bound]
        phases = [name for name in PHASES if any(row["phase"] == name for row in mine)]
        for phase in (*phases, "") if len(phases) > 1 else phases:
            chosen = [row for row in mine if phase in ("", row["phase"])]
            found.append({"bound": bound, "phase": phase} | summary(chosen))
    return found


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The geometric mean of the ratios of some rows, its interval, and how often each verdict.

    There is an interval only where all rows have raw samples; its basis is "steps" if any row has
    one process only.
    """
    mean = float(geometric_mean([row["ratio"] for row in rows]))
    drawn = [row["drawn"] for row in rows if row["drawn"] is not None]
    complete = len(drawn) == len(rows)
    low, high = interval(geometric_mean(drawn)) if complete else (math.nan, math.nan)
    bases = {row["basis"] for row in rows}
    basis = ("steps" if "steps" in bases else "processes") if complete else "medians"
    counts = {word: sum(row["verdict"] == word for row in rows) for word in VERDICTS}
    about = {"phases": len(rows), "mean": mean, "low": low, "high": high, "basis": basis}
    return about | counts
