"""The host's own time: gaps out of line with their place, sisters or the rest, and launches."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW_NS
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.mechanisms.host_gaps import beyond, held_gaps, host_gaps, paths_in_gaps
from workflow_src.diagnosis.mechanisms.transfers import SMALL_BYTES, TO_DEVICE, of_size
from workflow_src.diagnosis.recording import Edit, graphed
from workflow_src.diagnosis.subject import LARGE, Subject, rows_of
from workflow_src.placing.kernel_names import MULTIPLYING
from workflow_src.placing.paths import common_path

OUT_OF_LINE = 5
"""A gap is out of line if it is so many times as long as another one, and longer by so many times
the median gap of all: in clean programs none is."""

LONG_STALL = 0.25
"""A stall's share of a step at least; shorter ones are the host's luck, or the profiler's."""

LONGEST_LIKE = 3
"""A gap between parts of a step is out of line if it is so many times as long as the longest of
other ranges, the median of these. In programs without such a gap it is at most 1.7 times as long.
"""

LOADING = r"(?i)data|load|batch|fetch|next|input"
AROUND = ("", "copy", "fill", "unknown")
"""Families of what a library launches before a product while it looks for a kernel."""

BEFORE_PRODUCTS, NOT_MOST = 0.9, 0.7
"""Of gaps' time, from which on products are their reason, and of all calls that come before
products, at most: in two recorded loops 99 % and more, of 30 and 64 % of the calls."""


def _where(subject: Subject, gaps: pd.DataFrame) -> str:
    return common_path(paths_in_gaps(subject, rows_of(gaps)))


def _shorter(subject: Subject, key: str, gaps: pd.DataFrame, left: str) -> Finding:
    """Some gaps as one place, which would take the times (ns) in the column `left`."""
    left_ns = gaps[left].fillna(0).to_numpy(dtype=np.int64)
    edit = Edit(rows_of(gaps), gap=left_ns)
    return found(subject, key, gaps, edit, where=_where(subject, gaps))


def held_up(subject: Subject) -> Iterator[Finding]:
    """The host doesn't run for a while: new_shapes if mostly before products, or other_thread."""
    if len(rows := held_gaps(subject)):
        key = "new_shapes" if _before_products(subject, rows) else "other_thread"
        yield _shorter(subject, key, rows, "in_line_ns")


def _before_products(subject: Subject, gaps: pd.DataFrame) -> bool:
    family = subject.own["family"]
    product = family.mask(family.isin(AROUND)).bfill().isin(MULTIPLYING)
    longer_ns = gaps["gap_ns"] - gaps["in_line_ns"]
    share = longer_ns[product[gaps.index]].sum() / longer_ns.sum()
    return bool(share >= BEFORE_PRODUCTS and product.mean() <= NOT_MOST)


def computes(subject: Subject) -> Iterator[Finding]:
    """A long gap of the host: slow_loader, host_gap or stall."""
    table = host_gaps(subject)
    loader = table[(table["gap_ns"] > LARGE * table["median_ns"]) & table["loads"]]
    if len(loader):
        yield _shorter(subject, "slow_loader", loader, "median_ns")
    gaps = table[~table["loads"]].drop(held_gaps(subject).index)
    rows = gaps[beyond(gaps, gaps["usual_ns"], OUT_OF_LINE)]
    step_ns = subject.recording.steps["time_ns"].median()
    rows = rows[rows["gap_ns"] - rows["usual_ns"] > LONG_STALL * step_ns]
    if len(rows):
        yield _shorter(subject, "stall", rows, "usual_ns")
    for rows in _in_each_step(gaps):
        key = "slow_loader" if _is_loader(subject, rows) else "host_gap"
        yield _shorter(subject, key, rows, "like_ns")


def _in_each_step(gaps: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The gaps of each range that come in every step, with like_ns, what others take: those of one
    place and not its sisters, and longer ones than other ranges' longest."""
    rows = gaps[gaps["usual_ns"] > LARGE * gaps["median_ns"]]
    apart = rows["usual_ns"] > OUT_OF_LINE * rows["sisters_ns"]
    alone = apart & beyond(rows, rows["sisters_ns"], OUT_OF_LINE)
    for _, each in rows[alone].groupby("after"):
        if len(each) > 1:
            yield each.assign(like_ns=each["sisters_ns"])
    rows = rows[~apart]
    longest = rows.groupby(["after", "place"])["gap_ns"].median().groupby("after").max()
    for path, every in rows.groupby("after"):
        others, some = longest.drop(path), _one_a_step(every)
        rest = others.median() if len(others) else LARGE * every["median_ns"].iloc[0]
        if len(some) > 1 and some["gap_ns"].median() > LONGEST_LIKE * rest:
            yield some.assign(like_ns=rest if len(others) else some["median_ns"])


def _one_a_step(gaps: pd.DataFrame) -> pd.DataFrame:
    """The longest of a range's gaps in each step, if it is out of line with the others; else all.

    Where launches follow each other fast, each gap of a slower program is large.
    """
    longest = gaps.loc[gaps.groupby("step")["gap_ns"].idxmax()]
    others = gaps.drop(longest.index).groupby("step")["gap_ns"].max().median()
    return longest if (longest["gap_ns"] > OUT_OF_LINE * others).all() else gaps


def _is_loader(subject: Subject, rows: pd.DataFrame) -> bool:
    """Whether a batch comes in most of the time in some gaps; none comes after data was fetched."""
    multiplies = subject.work.loc[subject.work["family"].isin(MULTIPLYING), "path"].unique()

    def loads(path: str) -> bool:
        """Whether a range is named for a batch, and no products are in it."""
        inside = any(f"{each}/".startswith(f"{path}/") for each in multiplies)
        return bool(re.search(LOADING, path.rsplit("/", 1)[-1])) and not inside

    sent = of_size(subject, TO_DEVICE, SMALL_BYTES + 1)["call"]
    before_batch = rows["after"].map(loads) | rows.index.isin(sent)
    most = 2 * rows.loc[before_batch, "gap_ns"].sum() > rows["gap_ns"].sum()
    return bool(rows["fetched"].mean() <= 0.5 and (loads(_where(subject, rows)) or most))


def launch_bound(subject: Subject) -> Iterator[Finding]:
    """Small kernels, whose launches take the host longer than they take the device."""
    work, alone = subject.work, subject.bounds
    launches = subject.own[subject.own["launches"]]
    small = not work["device_ns"].mean() >= LAUNCH_BOUND_BELOW_NS
    if small and alone.host_ns > alone.device_ns and len(launches) > subject.step_count:
        edits = graphed(subject.recording.calls, rows_of(launches))
        yield found(subject, "launch_bound", launches, *edits, device_ns=work["device_ns"])
