"""The host's own time before each call of the loop, beside the usual one of the same place.

A place is what was launched before and after, in which ranges, and the how-manieth of these it is
in its step. Its sisters are the places that differ in numbers alone, such as other layers.
"""

import re

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Mask
from workflow_src.diagnosis.host_calls import ranges_of
from workflow_src.diagnosis.subject import END, LARGE, NUMBER, Subject, once
from workflow_src.diagnosis.transfers import SMALL_BYTES, TO_HOST, check_calls, of_size

LOW = 0.25
"""The quantile of gaps that is usual: of four, up to three may be out of line."""

LOWEST = 0.1
"""The quantile of gaps that is usual where many are out of line."""

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

LOADER = "enumerate(DataLoader)#"
"""How torch names its range in which a batch is waited for."""


@once
def host_gaps(subject: Subject) -> pd.DataFrame:
    """A row per call of the loop, numbered as in the recording.

    gap_ns, step; before, after: the paths of the calls on either side; place, sisters: numbers;
    usual_ns: the lower quartile of the place's gaps, sisters_ns: of the usual ones of its sisters,
    nan if it has none; median_ns: of all; all_ns: the lowest tenth of both; calls: of the place;
    in_layers: whether the sisters are in other ranges, such as layers; fetched, checks: whether it
    comes directly after data that is copied to the host, and at or after a check of a result;
    loads: whether most of it passed in torch's DataLoader.
    """
    calls, sides = subject.own, neighbors(subject)
    folded = sides.apply(lambda each: each.map({n: re.sub(NUMBER, "", n) for n in each.unique()}))
    table = calls[["gap_ns", "step"]].assign(before=sides["before"], after=sides["after"])
    table["sisters"], number = _numbered(folded), _numbered(sides)
    nth = table.groupby(["step", number]).cumcount()
    table["place"] = _numbered(pd.DataFrame({"number": number, "nth": nth}))
    gaps = table.groupby("place")["gap_ns"]
    places = table.groupby("place")[["sisters"]].first().assign(usual_ns=gaps.quantile(LOW))
    table["usual_ns"] = table["place"].map(places["usual_ns"])
    ends = sides["launched"] == END
    table.loc[ends, "usual_ns"] = _tails(subject).quantile(LOW)
    # What comes before the end of all is of the range that the other steps' ends come before.
    table.loc[ends, "after"] = calls.loc[subject.recording.steps["call"].iloc[-1], "path_text"]
    sisters, checks = table.groupby("sisters"), check_calls(subject)
    fetched = of_size(subject, TO_HOST, SMALL_BYTES + 1)["last"]
    return table.assign(
        sisters_ns=table["place"].map(_of_sisters(places)),
        median_ns=table["gap_ns"].median(),
        all_ns=table["sisters"].map(sisters["gap_ns"].quantile(LOWEST)),
        calls=gaps.transform("size"),
        in_layers=sisters["after"].transform("nunique") > 1,
        fetched=_comes_after(calls, fetched),
        checks=_comes_after(calls, checks) | calls.index.isin(checks),
        loads=_in_loader(subject, calls),
    )


def _comes_after(calls: pd.DataFrame, others: "Indices | pd.Series[int]") -> "pd.Series[bool]":
    """Which calls come directly after some others."""
    return pd.Series(calls.index.isin(others), calls.index).shift(fill_value=False)


def neighbors(subject: Subject) -> pd.DataFrame:
    """What was launched, or called, before and at each call of the loop, and in which ranges.

    Columns: launched_before and before (its path), launched and after.
    """
    own = subject.own[["launched", "path_text"]]
    before = own.shift(fill_value="").set_axis(["launched_before", "before"], axis=1)
    return before.join(own.rename(columns={"path_text": "after"}))


def gaps_of(subject: Subject) -> pd.DataFrame:
    """All but those that torch's DataLoader is known to take."""
    table = host_gaps(subject)
    return table[~table["loads"]]


def beyond(gaps: pd.DataFrame, usual: "pd.Series[float]", factor: float) -> "pd.Series[bool]":
    """Which gaps are out of line with what is usual."""
    gap = gaps["gap_ns"]
    return (gap > factor * usual) & (gap - usual > factor * gaps["median_ns"])


@once
def held_gaps(subject: Subject) -> pd.DataFrame:
    """Rows of host_gaps in which the host didn't run, with in_line_ns, their time without that.

    A thread that computes in Python keeps the interpreter whenever the loop's thread lets go of it,
    each time for about as long: at most sys.getswitchinterval(), 5 ms. That comes by chance, or,
    where each operation takes long enough to lose the interpreter, as under a profiler, at the same
    places in each step. Often there are none.
    """
    gaps = gaps_of(subject)
    much_ns = MUCH_TIME * subject.recording.steps["time_ns"].sum()
    for found in (_by_chance(gaps, much_ns), _everywhere(gaps, much_ns)):
        if found is not None:
            return found
    return gaps.iloc[:0].assign(in_line_ns=0.0)


def _by_chance(table: pd.DataFrame, much_ns: float) -> pd.DataFrame | None:
    """Gaps longer than those of the same place, if in many places, and many or long.

    in_line_ns: the median of those like each of them that aren't. Where all like it are stretched,
    a gap isn't told from one that is always long.
    """
    stretched = beyond(table, table["all_ns"], STRETCHED)
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


def _tails(subject: Subject) -> "pd.Series[int]":
    """The host's time (ns) from the last call of each step to the step's end."""
    steps, calls = subject.recording.steps, subject.recording.calls
    gap = calls.loc[calls["name"] == END, "gap_ns"]
    last = calls["end_ns"].reindex(steps["last_call"]).to_numpy()[:-1]
    tails: pd.Series[int] = pd.concat([steps["end_ns"].iloc[:-1] - last, gap])
    return tails


def _numbered(names: pd.DataFrame) -> Indices:
    """A number for each different row."""
    return names.groupby(list(names.columns), sort=False).ngroup().to_numpy().astype(np.int64)


def _of_sisters(places: pd.DataFrame) -> "pd.Series[float]":
    """For each place, with usual_ns and sisters: the lower quartile of its sisters' usual gaps."""
    usual = places["usual_ns"].to_numpy()
    found = np.full(len(places), np.nan)
    for rows in places.groupby("sisters").indices.values():
        if len(rows) > 1:
            ordered = np.sort(usual[rows])
            at = int(LOW * (len(rows) - 2))
            own = np.searchsorted(ordered, usual[rows])
            found[rows] = ordered[np.where(at < own, at, at + 1)]
    return pd.Series(found, index=places.index)


def _in_loader(subject: Subject, calls: pd.DataFrame) -> Mask:
    """Whether most of the host's time before each of some calls passed in torch's DataLoader."""
    loading, end = in_torch(subject, LOADER), calls["start_ns"].to_numpy()
    gap = calls["gap_ns"].to_numpy()
    return np.asarray(2 * (loading.until(end) - loading.until(end - gap)) > gap)


def in_torch(subject: Subject, beginning: str) -> Union:
    """When the loop's thread is in ranges of torch, which aren't a program's, named so."""
    ranges = subject.attributed.capture.ranges
    own = ranges["name"].str.startswith(beginning)
    own &= ranges["process"] == subject.recording.process
    own &= ranges["thread"] == subject.loop_thread
    return Union.of(*(ranges.loc[own, name].to_numpy() for name in ("start_ns", "end_ns")))


def paths_in_gaps(subject: Subject, rows: Indices) -> list[str]:
    """In which range the loop's thread was for most of the host's time before each of some calls.

    "" where it was in none.
    """
    paths, ranges = subject.attributed.paths, subject.attributed.placed.ranges
    nesting, numbers = ranges_of(ranges, subject.recording.process, subject.loop_thread)
    texts = np.append(paths.text, "")[np.append(paths.of_range, NOWHERE)[numbers]]
    calls = subject.recording.calls.loc[rows]
    found = []
    for until, gap in zip(calls["start_ns"].tolist(), calls["gap_ns"].tolist(), strict=True):
        first = np.searchsorted(nesting.times, until - gap, side="right")
        last = np.searchsorted(nesting.times, until, side="left")
        edges = np.concatenate([[until - gap], nesting.times[first:last], [until]])
        names = texts[nesting.at(edges[:-1])]
        found.append(str(pd.Series(np.diff(edges)).groupby(names).sum().idxmax()))
    return found
