"""The recorded steps of a process, in which findings are searched for, and their capture."""

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.recording import OTHER, Recording
from workflow_src.diagnosis.replay import Bounds, Check, bounds, check
from workflow_src.diagnosis.step import recorded
from workflow_src.placing.attributed import Attributed

NUMBER = r"\d+"
"""What the names of layers that are alike differ in."""

SLASH = re.compile(r"(?<!\\)/")
"""Between the names in a path; a slash in a name is escaped."""

END = "end of the last step"

MOST, MANY = 0.5, 8
"""More than this share is most; so many places, tensors or collectives are many."""

LARGE = 20
"""A large gap of the host is longer than so many times the median one."""

MAIN_SHARE = 0.25
"""The innermost place with this share of a mechanism's device time names it."""


@dataclass(frozen=True, eq=False)
class Subject:
    """The recorded steps of one process; rows of `calls` and `work` are numbered as recorded."""

    attributed: Attributed
    recording: Recording

    @classmethod
    def of(cls, attributed: Attributed, process: int) -> "Subject":
        """The steps of a process; raises TraceError as step.recorded."""
        return cls(attributed, ended(recorded(attributed, process)))

    @property
    def step_count(self) -> int:
        """How many steps were recorded."""
        return len(self.recording.steps)

    @cached_property
    def check(self) -> Check:
        """Of the recording."""
        return check(self.recording)

    @cached_property
    def bounds(self) -> Bounds:
        """Of the recording."""
        return bounds(self.recording)

    @cached_property
    def calls(self) -> pd.DataFrame:
        """Recording.calls of the steps, with:

        blocked_ns (of its duration, held up), launches (whether any work), device_ns (of that),
        family (of the first, or ""), launched (the name of the only one, or else the call's own: a
        CUDA graph isn't one of its kernels).
        """
        calls, steps = self.recording.calls, self.recording.steps
        calls = calls.loc[steps["call"].iloc[0] : steps["last_call"].iloc[-1]]
        only = self.work[self.work["alone"]].set_index("call")["name"]
        first = self.work.drop_duplicates("call").set_index("call")["family"]
        return calls.assign(
            blocked_ns=calls["end_ns"] - calls["start_ns"] - calls["cost_ns"],
            launches=calls.index.isin(first.index),
            device_ns=self.work.groupby("call")["device_ns"].sum().reindex(calls.index).fillna(0),
            family=first.astype(object).reindex(calls.index).fillna(""),
            launched=only.reindex(calls.index).fillna(calls["name"]).astype(object),
        )

    @cached_property
    def own(self) -> pd.DataFrame:
        """The calls of the loop itself."""
        return self.calls[~self.calls["beside"]]

    @cached_property
    def sides(self) -> pd.DataFrame:
        """The names launched, or called, before and at each call of the loop, and their paths:
        launched_before and before, launched and after."""
        own = self.own[["launched", "path"]]
        before = own.shift(fill_value="").set_axis(["launched_before", "before"], axis=1)
        return before.join(own.rename(columns={"path": "after"}))

    def launching(self, forward: bool) -> pd.DataFrame:
        """The loop's calls that launch work, of its own thread, forward's, or of autograd's."""
        calls = self.own
        return calls[calls["launches"] & ((calls["thread"] == self.loop_thread) == forward)]

    @cached_property
    def work(self) -> pd.DataFrame:
        """Recording.work that the steps' calls launched, with device_ns and `alone`: whether its
        call launched nothing else."""
        work, steps = self.recording.work, self.recording.steps
        work = work[work["call"].between(steps["call"].iloc[0], steps["last_call"].iloc[-1])]
        return work.assign(
            device_ns=work["end_ns"] - work["start_ns"],
            alone=~work["call"].duplicated(keep=False),
        )

    @cached_property
    def copies(self) -> pd.DataFrame:
        """Capture.copies of this work, by row of `work`."""
        rows = pd.Series(self.work.index, index=self.work["activity"])
        copies = self.attributed.capture.copies
        copies = copies[copies["work"].isin(rows.index)]
        return copies.set_index(rows[copies["work"]].to_numpy()).drop(columns="work")

    @cached_property
    def loop_thread(self) -> int:
        """The thread that makes the first call of most steps."""
        first = self.recording.steps["call"].to_numpy()
        return int(self.recording.calls["thread"].iloc[first].mode().iloc[0])

    def parts(self, paths: pd.Series) -> "pd.Series[str]":
        """The part of a step that each path lies in: of a step's range, at most one name more."""
        known = self.attributed.paths
        most = 1 + known.depth[known.of_range[self.attributed.steps.is_step]].max(initial=1)
        names = {path: SLASH.split(path)[:most] for path in paths.unique()}
        return paths.map({path: "/".join(parts) for path, parts in names.items()}).astype(object)


once = lru_cache(maxsize=1)
"""Keeps what a function derives of the last subject."""


def ended(recording: Recording) -> Recording:
    """A recording with a call of no time at its end, so that the host's time before it is a gap."""
    calls, steps = recording.calls, recording.steps.copy()
    last, end = int(steps["last_call"].iloc[-1]), int(steps["end_ns"].iloc[-1])
    tail = max(end - int(calls["end_ns"].iloc[last]), 0)
    final = calls.loc[[last]].assign(kind=OTHER, name=END, path="", gap_ns=tail, cost_ns=0)
    final = final.assign(start_ns=end, end_ns=end, beside=False)
    steps.loc[steps.index[-1], "last_call"] = last + 1
    work = recording.work[recording.work["call"] <= last]
    waits = recording.waits[recording.waits["call"] <= last]
    ties = recording.ties[recording.ties["work"] < len(work)]
    calls = pd.concat([calls.loc[:last], final], ignore_index=True)
    return replace(recording, calls=calls, work=work, waits=waits, ties=ties, steps=steps)


def main_place(work: pd.DataFrame) -> str:
    """The first innermost path that takes much of the time of some work; those that differ in
    numbers alone are one, with * for them."""
    place = work["path"].str.replace(NUMBER, "*", regex=True)
    sums = work["device_ns"].groupby(place, sort=False).sum()
    share = sums / max(work["device_ns"].sum(), 1)
    likely = share.index[share >= min(MAIN_SHARE, share.max())]
    name = str(max(likely, key=lambda path: str(path).count("/")))
    literal = work.loc[place == name, "path"].unique()
    return str(literal[0]) if len(literal) == 1 else name


def rows_of(table: pd.DataFrame) -> Indices:
    """The row numbers of some rows of Subject.calls or Subject.work."""
    return table.index.to_numpy(dtype=np.int64)
