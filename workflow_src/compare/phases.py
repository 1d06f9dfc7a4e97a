"""Each phase that ran in both runs: how its device time, its replay and its plain time changed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workflow_src.answers.tables import CaseKey
from workflow_src.common.case import PHASES
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.compare.change import Change, Kind, PhaseChange, Why, apart
from workflow_src.compare.machines import device_disturbed, host_changed
from workflow_src.compare.plain import Pair, Timed, changes, timed
from workflow_src.compare.resampling import Floats
from workflow_src.compare.runs import Run, status_of

Range = tuple[float, float, float]
"""Least, median and most (ms)."""


@dataclass(frozen=True)
class Absent:
    """A phase that ran in one of the runs only, with each run's status."""

    case: CaseKey
    phase: str
    a_status: str
    b_status: str

    @property
    def lost(self) -> bool:
        """Whether it ran in A and, though planned, not in B."""
        return self.a_status == "ok" and self.b_status not in ("ok", NOT_PLANNED)


NOT_PLANNED = "not planned"


def phase_changes(
    a: Run, b: Run, cases: Sequence[CaseKey], threshold: float
) -> tuple[PhaseChange, ...]:
    """The changes of all phases of `cases` that ran in both runs."""
    places = [(case, phase) for case in cases for phase in PHASES]
    times = {place: (_timed(a, place), _timed(b, place)) for place in places}
    pairs = {
        (case, phase): _pair(a, b, case, phase, (ours, theirs))
        for (case, phase), (ours, theirs) in times.items()
        if ours and theirs
    }
    judged = dict(zip(pairs, changes(list(pairs.values()), threshold), strict=True))
    return tuple(
        PhaseChange(
            case,
            phase,
            pairs[case, phase].working,
            device_change(a, b, case, phase, threshold),
            replay_change(a, b, case, phase, threshold),
            plain,
        )
        for (case, phase), plain in judged.items()
    )


def _timed(run: Run, place: tuple[CaseKey, str]) -> Timed | None:
    return timed(run, place[0].case, place[1])


def _pair(a: Run, b: Run, case: CaseKey, phase: str, times: tuple[Timed, Timed]) -> Pair:
    """A phase's plain times, with what they may be trusted for."""
    shares = [
        float(np.median(steps)) / time.median_ms if len(steps) else math.nan
        for run, time in zip((a, b), times, strict=True)
        for steps in (device_steps(run, case, phase),)
    ]
    working = math.nan if any(map(math.isnan, shares)) else min(shares)
    trusted = working >= WORKING_FULLY and not case.on_cpu
    return Pair(case.case, *times, working, trusted, _doubt(a, b, case, trusted))


def _doubt(a: Run, b: Run, case: CaseKey, trusted: bool) -> Why | None:
    """What the machines leave in doubt about a plain time.

    A host whose speed changed is no doubt where the device works for nearly all of the step.
    """
    if any(device_disturbed(run, case) for run in (a, b)):
        return Why.DEVICE
    return Why.HOST if not trusted and host_changed(a, b, case) else None


def device_steps(run: Run, case: CaseKey, phase: str) -> Floats:
    """Device time (ms) of each captured step of a phase; empty if it wasn't captured."""
    rows = run.tables.of("ranges", case.case, phase)
    busy: Floats = rows.loc[rows["path"] == phase, "busy_ms"].to_numpy(dtype=np.float64)
    return busy[busy > 0]


def device_change(a: Run, b: Run, case: CaseKey, phase: str, threshold: float) -> Change | None:
    """The change of device time, over the captured steps; None on a CPU, whose load is in it."""
    ours, theirs = (device_steps(run, case, phase) for run in (a, b))
    if not len(ours) or not len(theirs) or on_cpu(a, case) or on_cpu(b, case):
        return None
    return apart(Kind.DEVICE, _range(ours), _range(theirs), threshold)


def replay_change(a: Run, b: Run, case: CaseKey, phase: str, threshold: float) -> Change | None:
    """The change of the phase as a CUDA graph, if both runs replayed it."""
    ours, theirs = (_replayed(run, case, phase) for run in (a, b))
    return apart(Kind.REPLAY, ours, theirs, threshold) if ours and theirs else None


def _replayed(run: Run, case: CaseKey, phase: str) -> Range | None:
    """A replay's range over processes; from tables alone its 20th and 80th percentile."""
    raw = run.replays.get(case.case, {}).get(phase)
    if raw:
        return _range(np.array([np.median(group) for group in raw.by_process]))
    rows = run.tables.of("timings", case.case, phase)
    columns = ("replayed_p20_ms", "replayed_median_ms", "replayed_p80_ms")
    if rows.empty or not set(columns) <= set(rows):
        return None
    low, middle, high = (float(rows[column].iloc[0]) for column in columns)
    return (low, middle, high) if low > 0 else None


def _range(values: Floats) -> Range:
    return float(values.min()), float(np.median(values)), float(values.max())


def on_cpu(run: Run, case: CaseKey) -> bool:
    """Whether a run measured a case on a CPU."""
    return bool((run.tables.of("timings", case.case)["device"] == "cpu").all())


def not_in_both(a: Run, b: Run, cases: Sequence[CaseKey]) -> tuple[Absent, ...]:
    """Phases of `cases` that ran in one run only."""
    found = []
    for case in cases:
        for phase in PHASES:
            ours, theirs = (status_of(run, case.case, phase) or NOT_PLANNED for run in (a, b))
            if (ours == "ok") != (theirs == "ok"):
                found.append(Absent(case, phase, ours, theirs))
    return tuple(found)
