"""The host's own time: gaps out of line with their place, sisters or the rest, and launches."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW_NS
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.mechanisms.host_gaps import beyond, held_gaps, host_gaps, paths_in_gaps
from workflow_src.diagnosis.recording import Edit, graphed
from workflow_src.diagnosis.subject import LARGE, MOST, Subject, rows_of
from workflow_src.placing.kernel_names import MULTIPLYING
from workflow_src.placing.paths import common_path

OUT_OF_LINE = 5
"""A gap is out of line if it is so many times as long as its place's or its sisters' usual one, and
longer by so many times the median gap of all: in clean programs none is."""

LONGEST_LIKE = 3
"""Or so many times as long as the longest of other ranges, the median of these."""

LONG_STALL = 0.25
"""A stall's share of a step at least; shorter ones are the host's luck, or the profiler's."""

LOADING = r"(?i)data|load|batch|fetch|next|input"
AROUND = ("", "copy", "fill", "unknown")
"""Families of what a library launches before a product while it looks for a kernel."""

BEFORE_PRODUCTS = 0.9
"""Of gaps' time, from which on products are their reason: in two recorded loops 99 % and more."""


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
        family, longer_ns = subject.own["family"], rows["gap_ns"] - rows["usual_ns"]
        product = family.mask(family.isin(AROUND)).bfill().isin(MULTIPLYING)
        searched = longer_ns[product[rows.index]].sum() >= BEFORE_PRODUCTS * longer_ns.sum()
        yield _shorter(subject, "new_shapes" if searched else "other_thread", rows, "usual_ns")


def computes(subject: Subject) -> Iterator[Finding]:
    """A long gap of the host: slow_loader, host_gap or stall."""
    table = host_gaps(subject)
    loader = table[(table["gap_ns"] > LARGE * table["median_ns"]) & table["loads"]]
    if len(loader):
        yield _shorter(subject, "slow_loader", loader, "median_ns")
    gaps = table[~table["loads"]].drop(held_gaps(subject).index)
    rows = gaps[beyond(gaps, "usual_ns", OUT_OF_LINE)]
    step_ns = subject.recording.steps["time_ns"].median()
    rows = rows[rows["gap_ns"] - rows["usual_ns"] > LONG_STALL * step_ns]
    if len(rows):
        yield _shorter(subject, "stall", rows, "usual_ns")
    for rows in _in_each_step(gaps):
        key = "slow_loader" if _is_loader(subject, rows) else "host_gap"
        yield _shorter(subject, key, rows, "like_ns")


def _in_each_step(gaps: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The gaps of each range that come in every step, with like_ns, what others take: those of one
    place and not its sisters; and longer ones than other ranges' longest, if most of a range's."""
    rows = gaps[gaps["usual_ns"] > LARGE * gaps["median_ns"]]
    apart = rows["usual_ns"] > OUT_OF_LINE * rows["sisters_ns"]
    alone = apart & beyond(rows, "sisters_ns", OUT_OF_LINE)
    for _, each in rows[alone].groupby("after"):
        if len(each) > 1:
            yield each.assign(like_ns=each["sisters_ns"])
    rows = rows[~apart]
    longest = rows.groupby(["after", "place"])["gap_ns"].median().groupby("after").max()
    for path, every in rows.groupby("after"):
        others = longest.drop(path)
        rest = others.median() if len(others) else LARGE * every["median_ns"].iloc[0]
        some = every[every["usual_ns"] > LONGEST_LIKE * rest]
        if some["gap_ns"].sum() > MOST * every["gap_ns"].sum() and len(some) > 1:
            yield some.assign(like_ns=rest if len(others) else some["median_ns"])


def _is_loader(subject: Subject, rows: pd.DataFrame) -> bool:
    """Whether gaps lie in, or most of their time before, a range that is named for a batch and
    holds no products."""
    multiplies = subject.work.loc[subject.work["family"].isin(MULTIPLYING), "path"].unique()

    def loads(path: str) -> bool:
        inside = any(f"{each}/".startswith(f"{path}/") for each in multiplies)
        return bool(re.search(LOADING, path.rsplit("/", 1)[-1])) and not inside

    before_ns = rows.loc[rows["after"].map(loads), "gap_ns"].sum()
    return loads(_where(subject, rows)) or bool(2 * before_ns > rows["gap_ns"].sum())


def launch_bound(subject: Subject) -> Iterator[Finding]:
    """Small kernels, whose launches take the host longer than they take the device."""
    work, alone = subject.work, subject.bounds
    launches = subject.own[subject.own["launches"]]
    small = not work["device_ns"].mean() >= LAUNCH_BOUND_BELOW_NS
    if small and alone.host_ns > alone.device_ns and len(launches) > subject.step_count:
        edits = graphed(subject.recording.calls, rows_of(launches))
        yield found(subject, "launch_bound", launches, *edits, device_ns=work["device_ns"])
