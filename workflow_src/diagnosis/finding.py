"""What a step is searched for, what is found in it, and the list of what can be wrong.

A kind of finding is a function that selects rows of a Subject's calls or work, and says by which
edits a step does without them; one kind may have several reasons, each a row of mechanisms.csv. It
compares within one capture. What a place saves, a replay tells (diagnose.py).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import takewhile
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import Change, Edits
from workflow_src.diagnosis.recording import OTHER, Recording
from workflow_src.diagnosis.replay import Bounds, Check, bounds, check, replay
from workflow_src.diagnosis.step import recorded
from workflow_src.placing.attributed import Attributed

NUMBER = r"\d+"
"""What the names of layers that are alike differ in."""

END = "end of the last step"
"""The name of the call that ends a Subject's recording."""

MOST, MANY = 0.5, 8
"""What holds of more than this share mostly holds; what there are so many of is no single one: of
places, of tensors or parameters a step, of collectives in a row."""

LARGE = 20
"""A gap of the host is large if it is so many times as long as the median one."""

MAIN_SHARE = 0.25
"""The innermost place that takes this share of a mechanism's device time names it."""


@dataclass(frozen=True, eq=False)
class Subject:
    """The recorded steps of one process, and the capture that they are from.

    Rows of `calls` and `work` keep the numbers that they have in the recording, which edits need.
    """

    attributed: Attributed
    recording: Recording

    @classmethod
    def of(cls, attributed: Attributed, process: int) -> "Subject":
        """The steps of a process, found as in step.recorded, to the end of the last one.

        Raises TraceError as that does.
        """
        return cls(attributed, ended(recorded(attributed, process)))

    @property
    def process(self) -> int:
        """The process's number."""
        return self.recording.process

    @property
    def step_count(self) -> int:
        """How many steps were recorded."""
        return len(self.recording.steps)

    @cached_property
    def check(self) -> Check:
        """How well the model understands the recording."""
        return check(self.recording)

    @property
    def step_ns(self) -> float:
        """The time of a step as it is replayed without changes."""
        return self.check.replayed_ns

    def step_with(self, *changes: Change) -> float:
        """The time of a step (ns) as it is replayed with some changes."""
        return replay(self.recording, changes).step_ns if changes else self.step_ns

    @cached_property
    def bounds(self) -> Bounds:
        """What the host and the device alone would take for a step."""
        return bounds(self.recording)

    @cached_property
    def calls(self) -> pd.DataFrame:
        """Recording.calls from the first of the first step to the last one of the last step, with:

        path_text ("" where no range was open), blocked_ns (of its duration, held up), launches
        (whether any work), family (of the first, or ""), launched (the name of the only one, or
        else the call's own: a CUDA graph isn't one of the kernels in it).
        """
        calls, steps = self.recording.calls, self.recording.steps
        calls = calls.loc[steps["call"].iloc[0] : steps["last_call"].iloc[-1]]
        only = self.work[self.work["alone"]].set_index("call")["name"]
        first = self.work.drop_duplicates("call").set_index("call")["family"]
        return calls.assign(
            path_text=self.texts(calls["path"]),
            blocked_ns=calls["end_ns"] - calls["start_ns"] - calls["cost_ns"],
            launches=calls.index.isin(first.index),
            family=first.astype(object).reindex(calls.index).fillna(""),
            launched=only.reindex(calls.index).fillna(calls["name"]).astype(object),
        )

    @cached_property
    def own(self) -> pd.DataFrame:
        """The calls of the loop itself."""
        return self.calls[~self.calls["beside"]]

    @cached_property
    def work(self) -> pd.DataFrame:
        """Recording.work that the steps' calls launched, with path_text, device_ns and `alone`.

        device_ns: its duration; alone: whether its call launched nothing else.
        """
        work, steps = self.recording.work, self.recording.steps
        work = work[work["call"].between(steps["call"].iloc[0], steps["last_call"].iloc[-1])]
        return work.assign(
            path_text=self.texts(work["path"]),
            device_ns=work["end_ns"] - work["start_ns"],
            alone=~work["call"].duplicated(keep=False),
        )

    @cached_property
    def copies(self) -> pd.DataFrame:
        """Capture.copies of this work: direction, source, target, bytes, by row of `work`."""
        rows = pd.Series(self.work.index, index=self.work["activity"])
        copies = self.attributed.capture.copies
        copies = copies[copies["work"].isin(rows.index)]
        return copies.set_index(rows[copies["work"]].to_numpy()).drop(columns="work")

    @cached_property
    def loop_thread(self) -> int:
        """The thread that runs the loop: the one that makes the first call of most steps."""
        first = self.recording.steps["call"].to_numpy()
        return int(self.recording.calls["thread"].iloc[first].mode().iloc[0])

    def texts(self, paths: pd.Series) -> "pd.Series[str]":
        """The text of each path, "" for NOWHERE."""
        texts = np.append(self.attributed.paths.text, "")[paths.to_numpy()]
        return pd.Series(texts, index=paths.index, dtype=object)

    def ms_a_step(self, total_ns: float) -> float:
        """Nanoseconds of all steps as milliseconds of one."""
        return float(total_ns) / self.step_count / NS_PER_MS


once = lru_cache(maxsize=1)
"""Of a function that derives something of a subject: it keeps that of the last one."""


def ended(recording: Recording) -> Recording:
    """A recording to the end of its last step, which is a call that takes no time.

    So what the host does between the last call and the end is a gap as any other.
    """
    calls, steps = recording.calls, recording.steps.copy()
    last, end = int(steps["last_call"].iloc[-1]), int(steps["end_ns"].iloc[-1])
    tail = max(end - int(calls["end_ns"].iloc[last]), 0)
    final = calls.loc[[last]].assign(kind=OTHER, name=END, path=NOWHERE, gap_ns=tail, cost_ns=0)
    final = final.assign(start_ns=end, end_ns=end, beside=False)
    steps.loc[steps.index[-1], "last_call"] = last + 1
    work = recording.work[recording.work["call"] <= last]
    waits = recording.waits[recording.waits["call"] <= last]
    ties = recording.ties[recording.ties["work"] < len(work)]
    calls = pd.concat([calls.loc[:last], final], ignore_index=True)
    return replace(recording, calls=calls, work=work, waits=waits, ties=ties, steps=steps)


@dataclass(frozen=True)
class Between:
    """The calls that gaps of the host lie between: what they launched, or their names, and paths.

    places: how many such pairs there are; none of several is given. next_step: whether all of those
    after are of the next step.
    """

    places: int
    after: str = ""
    after_path: str = ""
    before: str = ""
    before_path: str = ""
    next_step: bool = False


@dataclass(frozen=True, eq=False)
class Finding:
    """One place of a mechanism, or several that have one cause.

    where: a range's path; edits: the step without it; calls: how often, in a step in which it
    occurs, which are in_steps of of_steps; host_ms, device_ms: what it takes of the steps that
    count; also: the part of the step in which most of its device time runs, if that is elsewhere;
    copied_bytes: in such a step, 0 where anything but copies is touched; example: the kernel,
    copy or call that takes most of what is changed, "" where nothing but the host's own time
    is, which is then `between` calls. saves_ms: what a step saves without it, and with all
    above (diagnose.py); nan where the model doesn't understand the step.
    """

    key: str
    where: str
    calls: float
    host_ms: float
    device_ms: float
    edits: Edits
    in_steps: int = 1
    of_steps: int = 1
    first_only: bool = False
    copied_bytes: float = 0.0
    also: str = ""
    example: str = ""
    between: Between | None = None
    saves_ms: float = nan
    saves_with_above_ms: float = nan


@dataclass(frozen=True)
class Mechanism:
    """One thing that can be wrong, in words.

    fact: a format of a Finding's fields; assumes: what the step without it is replayed with, a
    format of kept_ms; shown_by: the family
    of the kernel that is its example, "" for any; general: true of whole programs, and ranked last.
    """

    name: str
    fact: str
    assumes: str
    remedy: str
    shown_by: str
    general: bool


def _mechanisms() -> dict[str, Mechanism]:
    table = pd.read_csv(
        Path(__file__).with_name("mechanisms.csv"), dtype=str, keep_default_na=False
    )
    rows = table.assign(general=table["general"] == "yes").itertuples(index=False)
    return {str(key): Mechanism(*texts) for key, *texts in rows}


MECHANISMS = _mechanisms()
"""Every mechanism by its key."""

Find = Callable[[Subject], Iterator[Finding]]

KINDS: list[Find] = []
"""Every kind of finding, a function that gives its places; filled by diagnosis.mechanisms."""


def kind(find: Find) -> Find:
    """Register a kind of finding; the keys of its places name rows of mechanisms.csv."""
    KINDS.append(find)
    return find


def common_path(paths: Sequence[str] | pd.Series) -> str:
    """The innermost range that all of these paths lie in; "" if none does."""
    parts = [path.split("/") for path in dict.fromkeys(paths)]
    levels = (set(names) for names in zip(*parts, strict=False))
    return "/".join(names.pop() for names in takewhile(lambda names: len(names) == 1, levels))


def main_place(work: pd.DataFrame) -> str:
    """The innermost place that takes much of the time of some work, the first such one, as a path.

    Paths that differ in numbers alone, such as those of layers, are one place, with * for them,
    unless all of its work has the same.
    """
    place = work["path_text"].str.replace(NUMBER, "*", regex=True)
    sums = work["device_ns"].groupby(place, sort=False).sum()
    share = sums / max(work["device_ns"].sum(), 1)
    likely = share.index[share >= min(MAIN_SHARE, share.max())]
    name = str(max(likely, key=lambda path: str(path).count("/")))
    literal = work.loc[place == name, "path_text"].unique()
    return str(literal[0]) if len(literal) == 1 else name


def rows_of(table: pd.DataFrame) -> Indices:
    """The row numbers of some rows of Subject.calls or Subject.work, for an edit."""
    return table.index.to_numpy(dtype=np.int64)
