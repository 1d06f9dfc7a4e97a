"""The host's own time before each call of the loop, beside the usual one of the same place.

A place is what was launched before and after, in which ranges, and the how-manieth of these in its
step. Its sisters differ in numbers alone, such as other layers.
"""

import re

import numpy as np
import pandas as pd

from workflow_src.captures.rows import of_each, spans
from workflow_src.common.intervals import Indices, Union
from workflow_src.diagnosis.mechanisms.transfers import SMALL_BYTES, TO_HOST, of_size
from workflow_src.diagnosis.step import open_ranges, texts
from workflow_src.diagnosis.subject import END, LARGE, NUMBER, Subject, once

LOW, LOWEST = 0.25, 0.1
"""The usual quantile of gaps: of four, up to three may be out of line; and where many are."""

STRETCHED = 3
"""A gap is out of line if it is so many times as long as others of its place and of its sisters,
and longer by so many times the median gap of all."""

MANY_PLACES = 8
MANY_GAPS, MUCH_TIME = 0.02, 0.1
"""Shares of all gaps, and of the steps' time: in clean programs 0.3 % of gaps are stretched."""

HELD_SHARE = 0.5
"""A gap is stretched too if it is longer by this share of what the others are stretched by."""

ALIKE = 0.25
"""At least half of the long gaps that one thread causes differ from their median by at most this
share: 76 % do in a recorded loop."""

BETWEEN = 0.02
"""The share of gaps between a tenth and a third of the long ones' median is then at most this: in
other recorded loops with long gaps of so many kinds, as alike, it is 11 % or more."""

LOADER = "enumerate(DataLoader)#"
"""Begins torch's name of its range in which a batch is waited for."""


@once
def host_gaps(subject: Subject) -> pd.DataFrame:
    """A row per call of the loop, numbered as in the recording.

    before, after: the paths of the calls on either side; place, sisters: numbers; usual_ns: the
    lower quartile of the place's gaps, sisters_ns: of the usual ones of its sisters; median_ns: of
    all; all_ns: the lowest tenth of place and sisters; fetched: whether it comes directly after
    data that is copied to the host; loads: whether torch's DataLoader ran midway.
    """
    calls, sides = subject.own, subject.sides
    folded = sides.apply(lambda each: of_each(each, lambda name: re.sub(NUMBER, "", name)))
    number, sisters = (each.groupby([*each], sort=False).ngroup() for each in (sides, folded))
    table = calls[["gap_ns", "step"]].join(sides[["before", "after"]]).assign(sisters=sisters)
    nth = table.groupby(["step", number.rename("number")]).cumcount()
    table["place"] = table.groupby([number, nth], sort=False).ngroup()
    of_place = table.groupby("place")
    places = of_place[["sisters"]].first().assign(usual_ns=of_place["gap_ns"].quantile(LOW))
    of_sisters = places.groupby("sisters")["usual_ns"]
    table["usual_ns"] = table["place"].map(places["usual_ns"])
    # The last step ends as those before it, which another step follows.
    ends, begin = sides["launched"] == END, table.loc[subject.recording.steps["call"].iloc[-1]]
    table.loc[ends, "usual_ns"] = table.loc[ends, "usual_ns"].clip(upper=begin["usual_ns"])
    table.loc[ends, "after"] = begin["after"]
    fetched = of_size(subject, TO_HOST, SMALL_BYTES + 1)["last"]
    midway = (calls["start_ns"] - calls["gap_ns"] // 2).to_numpy()
    return table.assign(
        sisters_ns=table["sisters"].map(of_sisters.quantile(LOW, interpolation="lower")),
        median_ns=table["gap_ns"].median(),
        all_ns=table["sisters"].map(table.groupby("sisters")["gap_ns"].quantile(LOWEST)),
        fetched=np.append(False, calls.index.isin(fetched)[:-1]),
        loads=in_torch(subject, LOADER).holds(midway),
    )


def beyond(gaps: pd.DataFrame, usual: "pd.Series[float]", factor: float) -> "pd.Series[bool]":
    """Which gaps are out of line with what is usual."""
    gap = gaps["gap_ns"]
    return (gap > factor * usual) & (gap - usual > factor * gaps["median_ns"])


@once
def held_gaps(subject: Subject) -> pd.DataFrame:
    """Rows of host_gaps in which the host didn't run, with in_line_ns, their time without that.

    A thread that computes in Python keeps the interpreter whenever the loop's thread lets go of it,
    for about as long each time: at most sys.getswitchinterval(), 5 ms. That comes by chance or,
    under a profiler, at the same places in each step.
    """
    gaps = host_gaps(subject).query("~loads")
    much_ns = MUCH_TIME * subject.recording.steps["time_ns"].sum()
    by_chance = _by_chance(gaps, much_ns)
    found = by_chance if len(by_chance) else _everywhere(gaps, much_ns)
    # What most gaps are like is usual, as where a profiler makes each operation long.
    return found if 2 * len(found) <= len(gaps) else gaps.iloc[:0]


def _by_chance(table: pd.DataFrame, much_ns: float) -> pd.DataFrame:
    """Gaps longer than those of the same place, if in many places, and many or long.

    in_line_ns: the median of those like each of them that aren't.
    """
    stretched = beyond(table, table["all_ns"], STRETCHED)
    rows = table[stretched & (table["gap_ns"] > STRETCHED * table["usual_ns"])]
    excess_ns, gap, sisters = rows["gap_ns"] - rows["all_ns"], table["gap_ns"], table["sisters"]
    many = len(rows) >= MANY_GAPS * len(table) or excess_ns.sum() >= much_ns
    if rows["place"].nunique() < MANY_PLACES or not many:
        return table.iloc[:0]
    least = HELD_SHARE * float(excess_ns.median())
    shortest = gap.groupby(sisters).transform("min")
    in_line = gap.where(gap - shortest <= least).groupby(sisters).transform("median")
    return table.assign(in_line_ns=in_line)[gap - in_line > least]


def _everywhere(table: pd.DataFrame, much_ns: float) -> pd.DataFrame:
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
        return table.iloc[:0]
    short = table[~is_long]
    like = rows["sisters"].map(short.groupby("sisters")["gap_ns"].median())
    return rows.assign(in_line_ns=like.fillna(short["gap_ns"].median()))


def in_torch(subject: Subject, beginning: str) -> Union:
    """When the loop's thread is in torch's own ranges named so."""
    ranges = subject.attributed.capture.ranges
    own = ranges["name"].str.startswith(beginning)
    own &= ranges["process"] == subject.recording.process
    own &= ranges["thread"] == subject.loop_thread
    return Union.of(*spans(ranges[own]))


def paths_in_gaps(subject: Subject, rows: Indices) -> "pd.Series[str]":
    """The range that the loop's thread was in midway through the gap before each call, or ""."""
    ranges = subject.attributed.placed.ranges
    calls = subject.recording.calls.loc[rows]
    midway = (calls["start_ns"] - calls["gap_ns"] // 2 - 1).to_numpy()
    inside = open_ranges(ranges, subject.recording.process, subject.loop_thread, midway)
    return pd.Series(texts(subject.attributed)[inside], calls.index, dtype=object)
