"""Gaps in which the host didn't run: another thread of the process, or another process, did.

A thread that computes in Python keeps the interpreter whenever the loop's thread lets go of it,
each time for about as long: at most sys.getswitchinterval(), 5 ms. That comes by chance, or, where
each operation takes long enough to lose the interpreter, as under a profiler, at the same places in
each step.
"""

import numpy as np
import pandas as pd

from workflow_src.diagnosis.facts import LARGE
from workflow_src.diagnosis.finding import Subject
from workflow_src.diagnosis.host_gaps import LOW, Gaps, gaps_of

STRETCHED = 3
"""A gap is out of line if it is so many times as long as others of its place and of its sisters,
and longer by so many times the median gap of all."""

MANY_PLACES = 8
"""In so many places gaps are stretched if the host is kept from running: not only one's sisters."""

MANY_GAPS = 0.02
"""The share of all gaps that are stretched then."""

MUCH_TIME = 0.1
"""Or the share of the steps' time by which few gaps are stretched: in clean programs 0.3 %."""

HELD_SHARE = 0.5
"""A gap is stretched too if it is longer by this share of what the others are stretched by."""

ALIKE = 0.25
"""At least half of the long gaps that one thread causes differ from their median by no more than
this share: 76 % do in a recorded loop."""

BETWEEN = 0.02
"""At most so many of the gaps are then between short and long: a tenth and a third of the long
ones' median. In other recorded loops whose long gaps are of so many kinds, and as alike, 11 % or
more are."""


def held_gaps(subject: Subject) -> pd.DataFrame:
    """Rows of host_gaps that are stretched, with in_line_ns, what they would take; often none."""
    gaps = gaps_of(subject)
    much_ns = MUCH_TIME * subject.recording.steps["time_ns"].sum()
    for found in (_by_chance(gaps, much_ns), _everywhere(gaps.table, much_ns)):
        if found is not None:
            return found
    return gaps.table.iloc[:0].assign(in_line_ns=0.0)


def _by_chance(gaps: Gaps, much_ns: float) -> pd.DataFrame | None:
    """Gaps longer than those of the same place, if in many places, and many or long.

    in_line_ns: the median of those like each of them that aren't. Where all like it are stretched,
    a gap isn't told from one that is always long.
    """
    table = gaps.table
    stretched = gaps.beyond(table["all_ns"], STRETCHED)
    rows = table[stretched & (table["gap_ns"] > STRETCHED * table["usual_ns"])]
    excess_ns = rows["gap_ns"] - rows["all_ns"]
    many = len(rows) >= MANY_GAPS * len(table) or excess_ns.sum() >= much_ns
    if rows["place"].nunique() < MANY_PLACES or not many:
        return None
    least = HELD_SHARE * float(excess_ns.median())
    shortest = table.groupby("sisters")["gap_ns"].transform("min")
    in_line = table[table["gap_ns"] - shortest <= least].groupby("sisters")["gap_ns"].median()
    compared = table.assign(in_line_ns=table["sisters"].map(in_line))
    found = compared[compared["gap_ns"] - compared["in_line_ns"] > least]
    return found if found["place"].nunique() >= MANY_PLACES else None


def _everywhere(table: pd.DataFrame, much_ns: float) -> pd.DataFrame | None:
    """Long gaps of many kinds of places, if they are alike and few are between short and long.

    in_line_ns: the median of those like each of them that are short, or else of all short ones.
    """
    gap = table["gap_ns"]
    is_long = gap > LARGE * gap.quantile(LOW)
    rows, middle = table[is_long], float(gap[is_long].median())
    alike = (np.abs(rows["gap_ns"] - middle) <= ALIKE * middle).mean()
    between = gap.between(middle / 10, middle / 3).mean()
    few = rows["sisters"].nunique() < MANY_PLACES or rows["gap_ns"].sum() < much_ns
    if few or alike < 0.5 or between > BETWEEN:
        return None
    short = table[~is_long]
    like = rows["sisters"].map(short.groupby("sisters")["gap_ns"].median())
    return rows.assign(in_line_ns=like.fillna(short["gap_ns"].median()))
