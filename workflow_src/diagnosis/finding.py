"""What a step is searched for, what a mechanism finds in it, and the list of mechanisms.

A mechanism is one thing that can be wrong with a training step. Its function looks for signs of it
in one capture, compared with the rest of the same capture, and gives for each place the changes
that make the step do without it. What that saves, a replay tells (diagnose.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import takewhile

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


@dataclass(frozen=True, eq=False)
class Subject:
    """The recorded steps of one process, and the capture that they are from.

    Rows of `calls` and `work` keep the numbers that they have in the recording, which changes need.
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

    @cached_property
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

    @cached_property
    def step_with(self) -> Callable[..., float]:
        """The time of a step (ns) as it is replayed with some changes, the same ones once."""

        def step_ns(*changes: Change) -> float:
            return replay(self.recording, changes).step_ns if changes else self.step_ns

        return cache(step_ns)

    @cached_property
    def bounds(self) -> Bounds:
        """What the host and the device alone would take for a step."""
        return bounds(self.recording)

    @cached_property
    def calls(self) -> pd.DataFrame:
        """Recording.calls, with path_text ("" where no range was open) and blocked_ns (held up).

        From the first call of the first step to the last one of the last step.
        """
        calls, steps = self.recording.calls, self.recording.steps
        calls = calls.loc[steps["call"].iloc[0] : steps["last_call"].iloc[-1]]
        blocked = calls["end_ns"] - calls["start_ns"] - calls["cost_ns"]
        return calls.assign(path_text=self.texts(calls["path"]), blocked_ns=blocked)

    @cached_property
    def work(self) -> pd.DataFrame:
        """Recording.work that these calls launched, with path_text and device_ns (its duration)."""
        work, steps = self.recording.work, self.recording.steps
        work = work[work["call"].between(steps["call"].iloc[0], steps["last_call"].iloc[-1])]
        lasted = work["end_ns"] - work["start_ns"]
        return work.assign(path_text=self.texts(work["path"]), device_ns=lasted)

    @cached_property
    def copies(self) -> pd.DataFrame:
        """Capture.copies of this work: direction, source, target, bytes, by row of `work`."""
        rows = pd.Series(self.work.index, index=self.work["activity"])
        copies = self.attributed.capture.copies
        copies = copies[copies["work"].isin(rows.index)]
        return copies.set_index(rows[copies["work"]].to_numpy()).drop(columns="work")

    @cached_property
    def launched(self) -> "pd.Series[str]":
        """What each call launched, by the name of its activity; else the call's own name.

        So that of a call that launched several: a CUDA graph isn't one of the kernels in it.
        """
        only = self.work.drop_duplicates("call", keep=False).set_index("call")["name"]
        return only.reindex(self.calls.index).fillna(self.calls["name"]).astype(object)

    @cached_property
    def own(self) -> pd.DataFrame:
        """The loop's own calls, with what each `launched` and the `family` of its first activity.

        "" where it launched none.
        """
        calls = self.calls[~self.calls["beside"]]
        first = self.work.drop_duplicates("call").set_index("call")["family"].astype(object)
        family = first.reindex(calls.index).fillna("")
        return calls.assign(launched=self.launched[calls.index], family=family)

    @cached_property
    def loop_thread(self) -> int:
        """The thread that runs the loop: the one that makes the first call of most steps."""
        first = self.recording.steps["call"].to_numpy()
        return int(self.recording.calls["thread"].iloc[first].mode().iloc[0])

    @cached_property
    def _derived(self) -> dict[str, pd.DataFrame]:
        return {}

    def cached(self, derive: Callable[["Subject"], pd.DataFrame]) -> pd.DataFrame:
        """A table derived from the subject, once for all mechanisms that use it."""
        name = f"{derive.__module__}.{derive.__qualname__}"
        if name not in self._derived:
            self._derived[name] = derive(self)
        return self._derived[name]

    def texts(self, paths: pd.Series) -> "pd.Series[str]":
        """The text of each path, "" for NOWHERE."""
        texts = np.append(self.attributed.paths.text, "")[paths.to_numpy()]
        return pd.Series(texts, index=paths.index, dtype=object)

    def a_step(self, total: float) -> float:
        """A total over all steps, per step."""
        return float(total) / self.step_count

    def ms_a_step(self, total_ns: float) -> float:
        """Nanoseconds of all steps as milliseconds of one."""
        return self.a_step(total_ns) / NS_PER_MS

    def found(
        self, where: str, count: int, changes: Edits, host_ns: float = 0, device_ns: float = 0
    ) -> "Found":
        """A place of so many calls or activities, with the time of all steps that it takes."""
        ms = self.ms_a_step(host_ns), self.ms_a_step(device_ns)
        return Found(where, self.a_step(count), *ms, changes)

    def found_in(
        self, rows: pd.DataFrame, changes: Edits, host_ns: float = 0, device_ns: float = 0
    ) -> "Found":
        """The same of some calls or activities, in the range that all lie in."""
        return self.found(common_path(rows["path_text"]), len(rows), changes, host_ns, device_ns)


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
class Pattern:
    """In how many of the recorded steps a place occurs, and how many bytes it copies in such a one.

    first: only in the first; copied_bytes: 0 where anything but copies is touched.
    """

    steps: int = 1
    recorded: int = 1
    first: bool = False
    copied_bytes: float = 0.0

    @property
    def always(self) -> bool:
        """Whether it occurs in each step."""
        return self.steps == self.recorded


@dataclass(frozen=True, eq=False)
class Found:
    """One place of a mechanism, or several that have one cause.

    where: a range's path; calls: how often a step, and with its pattern known (cost.py), how often
    in a step in which it occurs; host_ms, device_ms: what it takes a step (the host's time blocked
    or spent, and the device's); changes: the step without it; also: the part of the step in which
    most of its device time runs, if that is elsewhere (cost.py); evidence: what shows it besides
    that of its mechanism.
    """

    where: str
    calls: float
    host_ms: float
    device_ms: float
    changes: Edits
    pattern: Pattern = Pattern()
    also: str = ""
    evidence: str = ""


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
    """A mechanism's place with what it costs (ms a step).

    saves_ms: what a step saves without it; saves_with_above_ms: without it and all findings above.
    Both are missing (nan) where the model doesn't understand the step. example: the kernel, copy or
    call that takes most of what is changed; "" where nothing but the host's own time is, which is
    then `between` calls.
    """

    key: str
    place: Found
    saves_ms: float
    saves_with_above_ms: float
    example: str = ""
    between: Between | None = None


Find = Callable[[Subject], list[Found]]


@dataclass(frozen=True)
class Mechanism:
    """One thing that can be wrong; `general` ones are true of whole programs and rank last.

    shown_by: the family of the kernel that is its example, "" for any.
    """

    key: str
    find: Find
    general: bool
    shown_by: str = ""


MECHANISMS: dict[str, Mechanism] = {}
"""Every mechanism by its key, in the order of registration; filled by diagnosis.mechanisms."""


def mechanism(key: str, general: bool = False, shown_by: str = "") -> Callable[[Find], Find]:
    """Register the function that finds a mechanism; `key` names its line of mechanisms.csv."""

    def register(find: Find) -> Find:
        if key in MECHANISMS:
            raise ValueError(f"two mechanisms have the key {key}")
        MECHANISMS[key] = Mechanism(key, find, general, shown_by)
        return find

    return register


def common_path(paths: Sequence[str] | pd.Series) -> str:
    """The innermost range that all of these paths lie in; "" if none does."""
    parts = [path.split("/") for path in dict.fromkeys(paths)]
    levels = (set(names) for names in zip(*parts, strict=False))
    return "/".join(names.pop() for names in takewhile(lambda names: len(names) == 1, levels))


def rows_of(table: pd.DataFrame) -> Indices:
    """The row numbers of some rows of Subject.calls or Subject.work, for a change."""
    return table.index.to_numpy(dtype=np.int64)
