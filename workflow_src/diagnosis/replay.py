"""Replays recorded steps with changes: how long they would take, and what each was bound by."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.changes import Change
from workflow_src.diagnosis.step import Recording

TOLERANCE = 0.02
"""A step counts as understood if its replay without changes is off by no more than this share."""


@dataclass(frozen=True)
class Replayed:
    """What a replay took.

    times_ns: of each step, from the end of the one before it to its own, host and device; the first
        one's is from its start, or from the end of the work that was launched before it.
    bound: a row per step: host_ns (between calls), calls_ns, device_ns, other_ns: how much of its
        time the longest chain of what waits for each other spends where.
    """

    times_ns: Indices
    bound: pd.DataFrame

    @property
    def step_ns(self) -> float:
        """The mean time from step to step; of a single step, its own."""
        times = self.times_ns[1:] if len(self.times_ns) > 1 else self.times_ns
        return float(times.mean())


@dataclass(frozen=True)
class Check:
    """The replay without changes beside the recording: time of a step (ns), mean as in step_ns."""

    recorded_ns: float
    replayed_ns: float

    @property
    def error(self) -> float:
        """By which share of the recorded time the replay is off; more is positive."""
        return self.replayed_ns / self.recorded_ns - 1

    @property
    def understood(self) -> bool:
        """Whether savings can be told of it."""
        return abs(self.error) <= TOLERANCE


def replay(recording: Recording, changes: Sequence[Change] = ()) -> Replayed:
    """The steps of a recording with all of these changes."""
    raise NotImplementedError


def check(recording: Recording) -> Check:
    """How well the model understands a recording."""
    raise NotImplementedError


def plain(recording: Recording, plain_ns: float) -> Change:
    """The ScaleHost by which a step takes plain_ns, its time without a profiler.

    Raises TraceError if no time of the host makes it that short.
    """
    raise NotImplementedError
