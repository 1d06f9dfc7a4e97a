"""Plain times of two runs: ratio, interval, rank test, and what they show."""

import math
from enum import StrEnum
from typing import Any

import pandas as pd

from workflow_src.compare.change import Verdict, chosen
from workflow_src.compare.statistics import (
    holm,
    interval,
    mann_whitney,
    resampled_ratios,
    smallest_p,
)

ALPHA = 0.005
"""The chance that a comparison of two equal runs finds any difference, over all its phases.

A gate that fails without a cause more than once in a hundred runs is soon ignored; half of that
leaves room for what no test knows of.
"""

WIDEST = 0.05
"""An interval that reaches further than this from 1 can't say that nothing changed."""


class Why(StrEnum):
    """Why nothing can be told of a plain time."""

    NONE = "no benchmark beside the tables"
    ONE = "one process"
    FEW = "too few processes"
    HOST = "launch-bound, and the host's speed changed"
    DEVICE = "the device was shared or throttled"
    SPREAD = "processes vary too much"


TOO_FEW = (Why.ONE, Why.FEW)


def judged(pairs: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Pairs of plain times with `verdict`, `why` nothing can be told ("" if it can), the ratio's
    interval, `low` to `high`, and the rank test's `p`, corrected for all tests.

    pairs: a row per case and phase, with runs.SAMPLES of A and of B; `trusted`: the device works
    for enough of the time that the host doesn't decide it; `doubt`: what the machines leave in
    doubt, or "".
    """
    rows = zip(pairs.index, pairs.itertuples(index=False), strict=True)
    names = ["low", "high", "p", "smallest"]
    known = pd.DataFrame([_evidence(str(key[0]), row) for key, row in rows], pairs.index, names)
    tested = known["p"].notna()
    known.loc[tested, "p"] = holm(known.loc[tested, "p"].tolist())
    low, high, ratio = known["low"], known["high"], (pairs["b_ms"] / pairs["a_ms"]).astype(float)
    shown = (pairs["doubt"] == "") & (known["p"] < ALPHA)
    slower, faster = shown & (ratio > 1 + threshold), shown & (ratio < 1 / (1 + threshold))
    widest = 1 + max(WIDEST, threshold)
    few = known["smallest"] * tested.sum() >= ALPHA
    # Few processes tell enough where the device decides and all of them lie close together.
    least, most = pairs["b_least"] / pairs["a_most"], pairs["b_most"] / pairs["a_least"]
    close = pairs["trusted"] & (least >= 1 / widest) & (most <= widest)
    reasons = {
        Why.NONE: low.isna(),
        Why.ONE: known["p"].isna(),
        "": few & close,
        Why.FEW: few,
        Why.SPREAD: ~((low >= 1 / widest) & (high <= widest)),
    }
    why = chosen(reasons).where(pairs["doubt"] == "", pairs["doubt"])
    why = why.where(~slower & ~faster, "")
    rules = {Verdict.SLOWER: slower, Verdict.FASTER: faster, Verdict.UNKNOWN: why != ""}
    verdict = chosen(rules, Verdict.SAME)
    return pairs.assign(verdict=verdict, why=why, **known[names[:3]])


def _evidence(case: str, row: Any) -> tuple[float, float, float, float]:
    """An interval, p, and the smallest p that so many processes can give."""
    if not (row.a_samples and row.b_samples):
        return math.nan, math.nan, math.nan, 1.0
    low, high = interval(resampled_ratios(row.a_samples, row.b_samples, case))
    if min(row.a_processes, row.b_processes) == 1:
        return low, high, math.nan, 1.0
    p = mann_whitney(row.a_samples, row.b_samples)
    return low, high, p, smallest_p(int(row.a_processes), int(row.b_processes))


def fewest_processes(tests: int) -> int:
    """How many processes each run needs, if both have as many, for any of `tests` to be shown."""
    return next(n for n in range(2, 1000) if smallest_p(n, n) * tests < ALPHA)
