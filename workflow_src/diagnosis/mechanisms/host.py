"""The host's own time: gaps out of line with their place, their sisters or the rest, and launches.

Those of each step are sorted by what is known of them: that a batch is loaded in them, that they
lie in one layer of several alike, or nothing but what they lie between.
"""

import re

import numpy as np
import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW_NS
from workflow_src.diagnosis.copies_table import RARE, TO_DEVICE, transfers
from workflow_src.diagnosis.edit import Edit, graphed
from workflow_src.diagnosis.facts import LARGE
from workflow_src.diagnosis.finding import Found, Subject, common_path, mechanism, rows_of
from workflow_src.diagnosis.held_gaps import held_gaps
from workflow_src.diagnosis.host_gaps import (
    Gaps,
    gaps_of,
    host_gaps,
    paths_in_gaps,
    spent_in_loader,
)
from workflow_src.diagnosis.recording import LAUNCH

OUT_OF_LINE = 5
"""A gap is out of line if it is so many times as long as another one, and longer by so many times
the median gap of all: in clean programs no gap is so much longer than its like."""

MANY_PLACES = 8
"""Places in which launches are slow, if the host is kept from running."""

LONG_STALL = 0.25
"""A stall takes at least this share of a step; shorter ones are the host's luck, or the
profiler's."""

LONGEST_LIKE = 3
"""Between parts of a step, such as before the optimizer, the host has more to do; a gap there is
out of line if it is so many times as long as the longest of other ranges, the median of these. In
programs without such a gap it is at most 1.7 times as long."""

LOADING = r"(?i)data|load|batch|fetch|next|input"
"""Names of ranges that load a batch, if nothing is computed from one in them."""

COMPUTES = ("gemm", "attention", "convolution", "normalization", "softmax", "embedding")
"""Families of kernels of a model."""

ONE_NUMBER = 8
"""Bytes of a single number, whose copy to the device tells of no batch."""

LOADER, LAYER, NO_CAUSE = range(3)


def _running(subject: Subject) -> Gaps:
    """The gaps in which the host ran, as far as is known, and neither checked nor saved."""
    gaps = gaps_of(subject)
    table = gaps.table
    held = table.index.isin(subject.cached(held_gaps).index)
    steps = table["step"].where(table["fetched"]).groupby(table["before"]).transform("nunique")
    saved = table["fetched"] & (steps <= RARE * subject.step_count)
    return Gaps(table[~held & ~table["checks"] & ~saved], gaps.median_ns)


def _of_loader(subject: Subject) -> pd.DataFrame:
    """The large gaps that torch's DataLoader takes, however few steps have any."""
    table = subject.cached(host_gaps)
    median_ns = table["gap_ns"].median()
    long = table["gap_ns"] > LARGE * median_ns
    return table[long & spent_in_loader(subject, rows_of(table))].assign(like_ns=median_ns)


def _in_each_step(gaps: Gaps) -> "pd.Series[bool]":
    """Which gaps are of places whose usual gap is large."""
    return gaps.table["usual_ns"] > LARGE * gaps.median_ns


def _found(
    subject: Subject,
    gaps: pd.DataFrame,
    keep: str,
    where: str | None = None,
    held: bool = False,
) -> Found:
    """Some gaps as one place: the range that all lie in, unless it is given.

    keep: the column that says what would be left of each; held: as in Edit.
    """
    left_ns = gaps[keep].fillna(0).to_numpy().astype(np.int64)
    change = Edit(rows_of(gaps), gap=left_ns, held=held)
    if where is None:
        where = common_path(paths_in_gaps(subject, rows_of(gaps)))
    return subject.found(where, len(gaps), (change,), (gaps["gap_ns"] - left_ns).sum())


@mechanism("other_thread")
def find_other_thread(subject: Subject) -> list[Found]:
    """Gaps of all kinds are stretched by alike times: the host doesn't run."""
    rows = subject.cached(held_gaps)
    if not len(rows):
        return []
    where = common_path(rows.loc[rows["after"] != "", "after"])
    return [_found(subject, rows, "in_line_ns", where, held=True)]


@mechanism("stall")
def find_stalls(subject: Subject) -> list[Found]:
    """A few long gaps where the same place has none in other steps."""
    gaps = _running(subject)
    rows = gaps.table[gaps.beyond(gaps.table["usual_ns"], OUT_OF_LINE)]
    step_ns = subject.recording.steps["time_ns"].median()
    rows = rows[rows["gap_ns"] - rows["usual_ns"] > LONG_STALL * step_ns]
    return [_found(subject, rows, "usual_ns")] if len(rows) else []


def _unlike_sisters(subject: Subject) -> list[pd.DataFrame]:
    """The gaps of each range that come in every step in one place, and not in those alike."""
    gaps = _running(subject)
    table = gaps.table.assign(like_ns=gaps.table["sisters_ns"])
    unlike = gaps.beyond(table["sisters_ns"], OUT_OF_LINE)
    unlike &= table["usual_ns"] > OUT_OF_LINE * table["sisters_ns"]
    rows = table[unlike & _in_each_step(gaps) & (table["calls"] > 1)]
    return [each for _, each in rows.groupby("after")]


def _large(subject: Subject) -> list[pd.DataFrame]:
    """The gaps of each range that come in every step and are longer than all other large ones.

    Like with like: each range has a longest place, and those of a range with many are of all kinds.
    """
    gaps = _running(subject)
    table = gaps.table
    rows = table[_in_each_step(gaps)]
    rows = rows[~(rows["usual_ns"] > OUT_OF_LINE * rows["sisters_ns"])]
    longest = rows.groupby(["after", "place"])["gap_ns"].median().groupby("after").max()
    found = []
    for path, every in rows.groupby("after"):
        others, some = longest.drop(path), _one_a_step(every)
        rest = float(others.median()) if len(others) else LARGE * gaps.median_ns
        if len(some) > 1 and some["gap_ns"].median() > LONGEST_LIKE * rest:
            found.append(some.assign(like_ns=rest if len(others) else gaps.median_ns))
    return found


def _one_a_step(gaps: pd.DataFrame) -> pd.DataFrame:
    """The longest of a range's gaps in each step, if it is out of line with the others; else all.

    Where launches follow each other fast, each gap of a program that doesn't is large.
    """
    longest = gaps.loc[gaps.groupby("step")["gap_ns"].idxmax()]
    others = gaps.drop(longest.index).groupby("step")["gap_ns"].max().median()
    alone = (longest["gap_ns"] > OUT_OF_LINE * others).all()
    return longest if alone else gaps


def _of_each_step(subject: Subject, reason: int) -> list[Found]:
    """The gaps of each step that are out of line, a place a range, of one of the three reasons."""
    places = [*_unlike_sisters(subject), *_large(subject)]
    found = [(rows, _found(subject, rows, "like_ns")) for rows in places]
    return [each for rows, each in found if _reason(subject, rows, each.where) == reason]


def _reason(subject: Subject, rows: pd.DataFrame, where: str) -> int:
    """What is known of most of the time in the gaps of a place, spent mostly in some range.

    Nothing is where they come after data was fetched: then the host does something with that.
    """
    if rows["fetched"].mean() > 0.5:
        return NO_CAUSE
    copies = subject.cached(transfers)
    sent = copies[(copies["direction"] == TO_DEVICE) & (copies["bytes"] > ONE_NUMBER)]
    loads = rows["after"].map(lambda path: _loads(subject, path)) | rows.index.isin(sent["call"])
    if _loads(subject, where) or 2 * rows.loc[loads, "gap_ns"].sum() > rows["gap_ns"].sum():
        return LOADER
    unlike = rows["like_ns"].eq(rows["sisters_ns"])
    return LAYER if (unlike & rows["in_layers"]).all() else NO_CAUSE


def _loads(subject: Subject, path: str) -> bool:
    """Whether a range is named for a batch, and nothing is computed from one in it."""
    if not re.search(LOADING, path.rsplit("/", 1)[-1]):
        return False
    computes = subject.work.loc[subject.work["family"].isin(COMPUTES), "path_text"]
    return not any(f"{each}/".startswith(f"{path}/") for each in computes.unique())


@mechanism("slow_loader")
def find_slow_loader(subject: Subject) -> list[Found]:
    """A long gap in a DataLoader, in or before a range that loads, or before a batch is sent."""
    found = _of_each_step(subject, LOADER)
    if len(rows := _of_loader(subject)):
        found.insert(0, _found(subject, rows, "like_ns"))
    return found


@mechanism("python_in_a_layer")
def find_python_in_a_layer(subject: Subject) -> list[Found]:
    """A gap in one layer, and not in the others that are alike."""
    return _of_each_step(subject, LAYER)


@mechanism("host_gap")
def find_host_gaps(subject: Subject) -> list[Found]:
    """A long gap of the host, in each step, of which nothing but its place is known."""
    return _of_each_step(subject, NO_CAUSE)


@mechanism("crowded_cores")
def find_crowded_cores(subject: Subject) -> list[Found]:
    """Launches that take long without waiting for anything, in places that change.

    A kernel's first launch may load its code.
    """
    calls = subject.own[subject.launched.duplicated()[subject.own.index]]
    calls = calls[calls["kind"] == LAUNCH]
    usual = calls.groupby("name")["cost_ns"].transform("median")
    slow = calls[calls["cost_ns"] > LARGE * usual]
    if len(slow[["launched", "path_text"]].drop_duplicates()) < MANY_PLACES:
        return []
    cost = int(usual.median())
    change, spent = Edit(rows_of(slow), cost=cost), (slow["cost_ns"] - cost).sum()
    return [subject.found_in(slow, (change,), spent)]


@mechanism("launch_bound", general=True)
def find_launch_bound(subject: Subject) -> list[Found]:
    """Small kernels, whose launches take the host longer than they take the device."""
    work = subject.work
    kernel_ns = work["device_ns"].sum() / max(len(work), 1)
    alone = subject.bounds
    if kernel_ns >= LAUNCH_BOUND_BELOW_NS or alone.host_ns <= alone.device_ns:
        return []
    launches = subject.own[subject.own.index.isin(work["call"])]
    times = (launches["gap_ns"] + launches["cost_ns"]).sum(), work["device_ns"].sum()
    changes = graphed(subject.recording.calls, rows_of(launches))
    return [subject.found_in(launches, changes, *times)]
