"""What can be changed in a recorded step before it is replayed: a closed list.

Rows are those of Recording.calls or Recording.work. All changes of one replay add up, in the order
given.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.recording import SHORT_NS, Recording

Factors = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a replay does, changed in place.

    gap_ns, cost_ns: of each call; duration_ns: of each activity; dropped: activities that don't
    happen; waits: which rows of Recording.waits hold.
    """

    recording: Recording
    gap_ns: Indices
    cost_ns: Indices
    duration_ns: Indices
    dropped: Mask
    waits: Mask

    @classmethod
    def of(cls, recording: Recording) -> "Plan":
        """A recording as it is."""
        calls, work = recording.calls, recording.work
        return cls(
            recording,
            calls["gap_ns"].to_numpy(copy=True),
            calls["cost_ns"].to_numpy(copy=True),
            (work["end_ns"] - work["start_ns"]).to_numpy(copy=True),
            np.zeros(len(work), dtype=bool),
            np.ones(len(recording.waits), dtype=bool),
        )

    def stop_waiting(self, calls: Indices) -> None:
        """These calls return at once."""
        if not len(self.waits):
            return
        self.waits[np.isin(self.recording.waits["call"].to_numpy(), calls)] = False

    def leave_out(self, calls: Indices) -> None:
        """These calls aren't made; the host's time before them and their work stay."""
        self.stop_waiting(calls)
        self.cost_ns[calls] = 0


@dataclass(frozen=True, eq=False)
class DropGap:
    """The host's own time before some calls becomes at most keep_ns.

    held: in the rest of it the host didn't run, so that no profiler made it longer.
    """

    calls: Indices
    keep_ns: int = 0
    held: bool = False

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        plan.gap_ns[self.calls] = np.minimum(plan.gap_ns[self.calls], self.keep_ns)


@dataclass(frozen=True, eq=False)
class ScaleGap:
    """The host's own time before some calls becomes `factor` (one, or one for each) of it."""

    calls: Indices
    factor: float | Factors

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        plan.gap_ns[self.calls] = np.rint(plan.gap_ns[self.calls] * self.factor).astype(np.int64)


@dataclass(frozen=True, eq=False)
class DropSynchronization:
    """Some calls that wait aren't made; work that they launch stays."""

    calls: Indices

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        plan.leave_out(self.calls)


@dataclass(frozen=True, eq=False)
class MakeAsynchronous:
    """Some calls, such as copies, return without waiting, after cost_ns; their work stays."""

    calls: Indices
    cost_ns: int = SHORT_NS

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        plan.stop_waiting(self.calls)
        plan.cost_ns[self.calls] = np.minimum(plan.cost_ns[self.calls], self.cost_ns)


@dataclass(frozen=True, eq=False)
class DropCall:
    """Some calls and the work that they launch vanish; the host's time before them stays."""

    calls: Indices

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        plan.leave_out(self.calls)
        plan.dropped[np.isin(plan.recording.work["call"].to_numpy(), self.calls)] = True


@dataclass(frozen=True, eq=False)
class ScaleWork:
    """Some device work takes `factor` (one, or one for each) of its time; 0 drops it."""

    work: Indices
    factor: float | Factors

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        factor = np.broadcast_to(self.factor, self.work.shape)
        scaled = np.rint(plan.duration_ns[self.work] * factor)
        plan.duration_ns[self.work] = scaled.astype(np.int64)
        plan.dropped[self.work[factor == 0]] = True


@dataclass(frozen=True, eq=False)
class DropLaunches:
    """Of calls that follow each other in a step only the first stays: a graph launches their work.

    The host's time before the others vanishes, too. To the device, the first launches all.
    """

    calls: Indices

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        calls = np.sort(self.calls)
        beside = plan.recording.calls["beside"].to_numpy()
        place = np.cumsum(~beside)[calls]
        step = plan.recording.calls["step"].to_numpy()[calls]
        others = calls[1:][(np.diff(place) == 1) & (np.diff(step) == 0)]
        plan.leave_out(others)
        plan.gap_ns[others] = 0


@dataclass(frozen=True, eq=False)
class MergeLaunches:
    """Launches of a group become its first one, whose work then takes duration_ns: fusion.

    group: of each of `calls`, from 0; duration_ns: of each group, all its kernels together.
    """

    calls: Indices
    group: Indices
    duration_ns: Indices

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        order = np.lexsort((self.calls, self.group))
        calls, group = self.calls[order], self.group[order]
        is_first = np.append(True, group[1:] != group[:-1])[: len(group)]
        of_call = plan.recording.work["call"].to_numpy()
        kernel = np.searchsorted(of_call, calls[is_first])
        others = calls[~is_first]
        plan.leave_out(others)
        plan.gap_ns[others] = 0
        plan.dropped[np.isin(of_call, calls)] = True
        plan.dropped[kernel] = False
        plan.duration_ns[kernel] = self.duration_ns[group[is_first]]


@dataclass(frozen=True, eq=False)
class ScaleHost:
    """Of the host's own time between calls, and of their cost, the first up_to_ns is scaled.

    What a profiler adds, it adds for each call and range: a long sleep is no longer for it. Nor is
    what makes a gap longer than running_ns, one for each call, if that is known: that part, in
    which the host didn't run, is scaled by held. Calls beside the loop stay.
    """

    factor: float
    up_to_ns: int
    running_ns: Indices | None = None
    held: float = 1.0

    def apply(self, plan: Plan) -> None:
        """Change the plan."""
        own = ~plan.recording.calls["beside"].to_numpy()
        running = plan.gap_ns if self.running_ns is None else self.running_ns
        beyond = np.maximum(plan.gap_ns - running, 0)
        for times, most in ((plan.gap_ns, running), (plan.cost_ns, plan.cost_ns)):
            scaled = np.clip(np.minimum(times, most)[own], 0, self.up_to_ns)
            times[own] -= np.rint(scaled * (1 - self.factor)).astype(np.int64)
        plan.gap_ns[own] -= np.rint(beyond[own] * (1 - self.held)).astype(np.int64)


Change = (
    DropGap
    | ScaleGap
    | DropSynchronization
    | MakeAsynchronous
    | DropCall
    | ScaleWork
    | DropLaunches
    | MergeLaunches
    | ScaleHost
)
