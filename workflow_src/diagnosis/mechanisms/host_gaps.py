"""The host's own time before each call of the loop, beside the usual one of the same place.

A place is what was launched before and after, in which ranges, and the how-manieth of these in its
step. Its sisters differ in numbers alone, such as other layers.
"""

import re

import pandas as pd

from workflow_src.captures.rows import of_each, spans
from workflow_src.common.intervals import Indices, Union
from workflow_src.diagnosis.step import open_ranges, texts
from workflow_src.diagnosis.subject import END, NUMBER, Subject, once

LOW = 0.25
"""The usual quantile of gaps: of four, up to three may be out of line."""

STRETCHED = 3
"""A gap is out of line if it is so many times as long as others of its place, and longer by so many
times the median gap of all."""

MANY_PLACES, MUCH_TIME = 8, 0.1
"""Where the host is kept from running, at least; and how much of the steps' time."""

HELD_SHARE = 0.5
"""A gap is stretched too if it is longer by this share of what the others are stretched by."""

LOADER = "enumerate(DataLoader)#"
"""Begins torch's name of its range in which a batch is waited for."""


@once
def host_gaps(subject: Subject) -> pd.DataFrame:
    """A row per call of the loop, numbered as in the recording.

    after: the path of the call; place, sisters: numbers; usual_ns: the lower quartile of the
    place's gaps, sisters_ns: of the usual ones of its sisters; median_ns: of all; loads: whether
    torch's DataLoader ran midway.
    """
    calls, sides = subject.own, subject.sides
    folded = sides.apply(lambda each: of_each(each, lambda name: re.sub(NUMBER, "", name)))
    number, sisters = (each.groupby([*each], sort=False).ngroup() for each in (sides, folded))
    table = calls[["gap_ns", "step"]].join(sides["after"]).assign(sisters=sisters)
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
    # When the loop's thread is in torch's own ranges of its DataLoader.
    ranges = subject.attributed.capture.ranges
    loading = ranges["name"].str.startswith(LOADER) & (ranges["thread"] == subject.loop_thread)
    loading &= ranges["process"] == subject.recording.process
    midway = (calls["start_ns"] - calls["gap_ns"] // 2).to_numpy()
    return table.assign(
        sisters_ns=table["sisters"].map(of_sisters.quantile(LOW, interpolation="lower")),
        median_ns=table["gap_ns"].median(),
        loads=Union.of(*spans(ranges[loading])).holds(midway),
    )


def beyond(gaps: pd.DataFrame, usual: str, factor: float) -> "pd.Series[bool]":
    """Which gaps are out of line with what a column says is usual."""
    gap, usual_ns = gaps["gap_ns"], gaps[usual]
    return (gap > factor * usual_ns) & (gap - usual_ns > factor * gaps["median_ns"])


@once
def held_gaps(subject: Subject) -> pd.DataFrame:
    """Rows of host_gaps in which the host didn't run: stretched ones in many places.

    A thread that computes in Python keeps the interpreter whenever the loop's thread lets go of it,
    for about as long each time: at most sys.getswitchinterval(), 5 ms.
    """
    gaps = host_gaps(subject).query("~loads")
    longer_ns, stretched = gaps["gap_ns"] - gaps["usual_ns"], beyond(gaps, "usual_ns", STRETCHED)
    much_ns = MUCH_TIME * subject.recording.steps["time_ns"].sum()
    few = gaps.loc[stretched, "place"].nunique() < MANY_PLACES
    if few or longer_ns[stretched].sum() < much_ns:
        return gaps.iloc[:0]
    return gaps[longer_ns > HELD_SHARE * longer_ns[stretched].median()]


def paths_in_gaps(subject: Subject, rows: Indices) -> "pd.Series[str]":
    """The range that the loop's thread was in midway through the gap before each call, or ""."""
    ranges = subject.attributed.placed.ranges
    calls = subject.recording.calls.loc[rows]
    midway = (calls["start_ns"] - calls["gap_ns"] // 2 - 1).to_numpy()
    inside = open_ranges(ranges, subject.recording.process, subject.loop_thread, midway)
    return pd.Series(texts(subject.attributed)[inside], calls.index, dtype=object)
