"""Plain times of two runs: ratio, interval, rank test, and what they show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.compare.change import Change, Kind, Verdict, Why
from workflow_src.compare.rank_test import holm, mann_whitney, smallest_p
from workflow_src.compare.resampling import (
    FEWEST_EXTREMES,
    interval,
    interval_of_extremes,
    resampled_ratios,
)
from workflow_src.compare.runs import Run, status_of

ALPHA = 0.005
"""The chance that a comparison of two equal runs finds any difference, over all its phases.

A gate that fails without a cause more often than once in a hundred runs is soon ignored; half of
that leaves room for what no test knows of.
"""

WIDEST = 0.05
"""An interval that reaches further than this from 1 is too wide to say that nothing changed."""


@dataclass(frozen=True)
class Timed:
    """The plain time of one phase in one run.

    `medians_ms` are those of its processes, or the steps of its only process; empty where only
    tables are published. `fastest_ms` and `slowest_ms` are the extremes of the processes' medians.
    """

    median_ms: float
    processes: int
    fastest_ms: float
    slowest_ms: float
    medians_ms: tuple[float, ...] = ()


@dataclass(frozen=True)
class Pair:
    """The plain times of one phase in A and B.

    `working` is the least share of them in which the device works (NaN: unknown), `trusted` whether
    that is enough for the host not to decide them, `doubt` what the machines leave in doubt.
    """

    case: str
    a: Timed
    b: Timed
    working: float
    trusted: bool
    doubt: Why | None


@dataclass(frozen=True)
class Evidence:
    """What is known of a ratio: its interval, p, and the smallest p so many processes can give."""

    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    smallest: float = 1.0


def timed(run: Run, case: str, phase: str) -> Timed | None:
    """The plain time of a phase; None where it has none."""
    if status_of(run, case, phase) != "ok":
        return None
    raw = run.samples.get(case, {}).get(phase)
    if raw is None:
        return _from_table(run.tables.of("timings", case, phase).iloc[0])
    groups = raw.by_process
    medians = [float(np.median(group)) for group in groups]
    samples = medians if len(groups) > 1 else groups[0]
    middle = float(np.median(samples))
    return Timed(middle, len(groups), min(medians), max(medians), tuple(samples))


def _from_table(row: "pd.Series[float]") -> Timed | None:
    """From a row of timings.csv. Older tables lack `processes`: all were measured in one."""
    found = pd.to_numeric(
        row.reindex(["median_ms", "processes", "fastest_ms", "slowest_ms"]), errors="coerce"
    )
    median, processes, fastest, slowest = (float(number) for number in found)
    if not median > 0:
        return None
    return Timed(median, 1 if math.isnan(processes) else int(processes), fastest, slowest)


def evidence(pair: Pair) -> Evidence:
    """What raw samples, or only the fastest and the slowest process, tell of a ratio."""
    a, b = pair.a, pair.b
    several = min(a.processes, b.processes) > 1
    smallest = smallest_p(a.processes, b.processes) if several else 1.0
    if a.medians_ms and b.medians_ms:
        low, high = interval(resampled_ratios(a.medians_ms, b.medians_ms, pair.case))
        p = mann_whitney(a.medians_ms, b.medians_ms) if several else math.nan
        return Evidence(low, high, p, smallest)
    if not several:
        return Evidence()
    ours, theirs = ((run.fastest_ms, run.slowest_ms) for run in (a, b))
    known = interval_of_extremes(ours, theirs, a.processes, b.processes)
    low, high = known or (math.nan, math.nan)
    disjoint = b.fastest_ms > a.slowest_ms or a.fastest_ms > b.slowest_ms
    return Evidence(low, high, smallest if disjoint else 1.0, smallest)


def changes(pairs: Sequence[Pair], threshold: float) -> list[Change]:
    """The change of each pair, with p corrected for all that are tested."""
    found = [evidence(pair) for pair in pairs]
    tested = [place for place, each in enumerate(found) if not math.isnan(each.p)]
    corrected = dict(zip(tested, holm([found[place].p for place in tested]), strict=True))
    return [
        _change(pair, found[place], corrected.get(place, math.nan), len(tested), threshold)
        for place, pair in enumerate(pairs)
    ]


def _change(pair: Pair, found: Evidence, p: float, tests: int, threshold: float) -> Change:
    ratio, shown = pair.b.median_ms / pair.a.median_ms, p < ALPHA
    why = pair.doubt
    verdict = Verdict.UNKNOWN
    if why is None and shown and ratio > 1 + threshold:
        verdict = Verdict.SLOWER
    elif why is None and shown and ratio < 1 / (1 + threshold):
        verdict = Verdict.FASTER
    elif why is None:
        why = _open(pair, found, tests, max(WIDEST, threshold))
        verdict = Verdict.UNKNOWN if why else Verdict.SAME
    processes = (pair.a.processes, pair.b.processes)
    times = (pair.a.median_ms, pair.b.median_ms)
    return Change(Kind.PLAIN, *times, verdict, why, found.low, found.high, p, processes)


def _open(pair: Pair, found: Evidence, tests: int, widest: float) -> Why | None:
    """Why a ratio can't be said to be the same; None if it can.

    Few processes do where the device decides and all of them lie close together.
    """
    if math.isnan(found.p):
        return Why.ONE
    if found.smallest * tests >= ALPHA or math.isnan(found.low):
        return None if pair.trusted and _close(pair, widest) else Why.FEW
    known = found.low >= 1 / (1 + widest) and found.high <= 1 + widest
    return None if known else Why.SPREAD


def _close(pair: Pair, widest: float) -> bool:
    """Whether no process of one run differs by more than `widest` from any of the other."""
    low, high = (
        pair.b.fastest_ms / pair.a.slowest_ms,
        pair.b.slowest_ms / pair.a.fastest_ms,
    )
    return low >= 1 / (1 + widest) and high <= 1 + widest


def fewest_processes(tests: int) -> int:
    """How many processes each run needs, if both have as many, for any of `tests` to be shown.

    Also where only the fastest and the slowest process are published.
    """
    raw = next(n for n in range(2, 1000) if smallest_p(n, n) * tests < ALPHA)
    return max(raw, FEWEST_EXTREMES)
