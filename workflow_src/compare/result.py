"""All that was found about two runs, A and B, and the tables that show it."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.common import words
from workflow_src.compare.change import OF_PHASES, Change, PhaseChange, Verdict, Why
from workflow_src.compare.machines import InCommon, in_common
from workflow_src.compare.phases import Absent, not_in_both, on_cpu, phase_changes
from workflow_src.compare.plain import fewest_processes
from workflow_src.compare.resampling import geometric_mean
from workflow_src.compare.runs import Run
from workflow_src.compare.work import KernelChange, StepChange, kernel_changes, step_changes
from workflow_src.paper.value import Cell, Joined, Value

TOO_FEW = (Why.ONE, Why.FEW)


@dataclass(frozen=True)
class Comparison:
    """Two runs compared: B against A."""

    a: str
    b: str
    threshold: float
    common: InCommon
    phases: tuple[PhaseChange, ...]
    absent: tuple[Absent, ...]
    kernels: tuple[KernelChange, ...]
    steps: tuple[StepChange, ...]

    @property
    def lost(self) -> tuple[Absent, ...]:
        """Phases that ran in A and, though planned, not in B."""
        return tuple(each for each in self.absent if each.lost)

    def of(self, verdict: Verdict) -> tuple[PhaseChange, ...]:
        """The phases with a verdict."""
        return tuple(each for each in self.phases if each.verdict is verdict)

    @property
    def processes_needed(self) -> int | None:
        """The processes that a verdict on plain times takes; None where more of them don't help."""
        few = [each for each in self.phases if each.plain and each.plain.why in TOO_FEW]
        return fewest_processes(len(self.phases)) if few else None

    @property
    def absent_table(self) -> pd.DataFrame:
        """Phases that ran in one of the runs only."""
        lines = [
            (e.case.case, words.PHASES[e.phase], _state(e.a_status), _state(e.b_status))
            for e in self.absent
        ]
        return pd.DataFrame(lines, columns=["case", "phase", "A", "B"], dtype="object")

    @property
    def summary_table(self) -> pd.DataFrame:
        """Per kind of time: how many phases have each verdict, and the geometric mean of B / A."""
        lines = []
        for kind in OF_PHASES:
            changes = [c for each in self.phases for c in each.changes if c.kind is kind]
            counts = Counter(change.verdict for change in changes)
            if changes:
                mean = float(geometric_mean([change.ratio for change in changes]))
                lines.append([kind, *(counts[verdict] for verdict in Verdict), near_one(mean)])
        return pd.DataFrame(lines, columns=["", *Verdict, "mean of B / A"], dtype="object")

    @property
    def phases_table(self) -> pd.DataFrame:
        """Every phase with its verdict, those with one first, then by the largest ratio."""
        order = [Verdict.SLOWER, Verdict.FASTER, Verdict.UNKNOWN, Verdict.SAME]
        ranked = sorted(self.phases, key=lambda e: (order.index(e.verdict), -_largest(e)))
        names = ["case", "phase", "verdict", *(f"{kind}, ms" for kind in OF_PHASES)]
        names += ["B / A", "B / A", "B / A", "99 % interval", "why plain time can't tell"]
        lines = [
            [
                each.case.case,
                words.PHASES[each.phase],
                each.verdict,
                *(ms_cell(change) for change in (each.device, each.replay, each.plain)),
                *(ratio_cell(change) for change in (each.device, each.replay, each.plain)),
                interval_cell(each.plain),
                each.plain.why if each.plain else None,
            ]
            for each in ranked
        ]
        return pd.DataFrame(lines, columns=names, dtype="object")

    @property
    def kernels_table(self) -> pd.DataFrame:
        """Kernels that changed, those of one case, phase and short name together."""
        groups: dict[tuple[str, str, str], list[KernelChange]] = {}
        for each in self.kernels:
            groups.setdefault((each.case.case, each.phase, each.short_name), []).append(each)
        ranked = sorted(groups.items(), key=lambda item: -abs(_change_ms(item[1])))
        lines = [
            [
                case,
                words.PHASES[phase],
                short,
                " and ".join(dict.fromkeys(each.kind for each in mine)),
                Joined((_calls(mine, "a"), _calls(mine, "b"))),
                Joined((number(sum(e.a_ms for e in mine)), number(sum(e.b_ms for e in mine)))),
                number(_change_ms(mine)),
            ]
            for (case, phase, short), mine in ranked
        ]
        names = ["case", "phase", "kernel", "what changed", "calls", "ms", "B - A, ms"]
        return pd.DataFrame(lines, columns=names, dtype="object")

    @property
    def steps_table(self) -> pd.DataFrame:
        """Profiled steps that changed by more than the threshold, and their parts (ms)."""
        moved = [each for each in self.steps if each.most > self.threshold]
        parts = list(dict.fromkeys(name for each in moved for name in each.parts_ms))
        lines = [
            [
                each.case.case,
                words.PHASES[each.phase],
                number(each.a_ms),
                number(each.change_ms),
                *(number(each.parts_ms[name]) if name in each.parts_ms else None for name in parts),
            ]
            for each in moved
        ]
        names = ["case", "phase", "step in A, ms", "B - A, ms", *parts]
        return pd.DataFrame(lines, columns=names, dtype="object")


def compare(a: Run, b: Run, threshold: float) -> Comparison:
    """Compare two runs. Raises StageError if they have no case in common."""
    common = in_common(a, b)
    cases = common.cases
    # Operators and kernels have nothing in common, nor do their times.
    alike = [case for case in cases if on_cpu(a, case) == on_cpu(b, case)]
    return Comparison(
        a=a.name,
        b=b.name,
        threshold=threshold,
        common=common,
        phases=phase_changes(a, b, cases, threshold),
        absent=not_in_both(a, b, cases),
        kernels=kernel_changes(a, b, alike),
        steps=step_changes(a, b, alike),
    )


def _state(status: str) -> str:
    return words.STATES.get(status, status)


def _largest(each: PhaseChange) -> float:
    return max(abs(math.log(change.ratio)) for change in each.changes)


def _change_ms(changes: Sequence[KernelChange]) -> float:
    return sum(each.change_ms for each in changes)


def _calls(changes: Sequence[KernelChange], side: str) -> Value:
    return Value(sum(getattr(each, f"{side}_calls") for each in changes), "calls", ())


def number(value: float) -> Value:
    """A number of ms; of two runs, so that no table's row is its source."""
    return Value(value, "ms", ())


def near_one(value: float) -> Value:
    """A ratio B / A."""
    return Value(value, "near_one", ())


def ms_cell(change: Change | None) -> Cell:
    """The times of A and B."""
    return Joined((number(change.a_ms), number(change.b_ms))) if change else None


def ratio_cell(change: Change | None) -> Cell:
    """B / A."""
    return near_one(change.ratio) if change else None


def interval_cell(change: Change | None) -> Cell:
    """The interval of a ratio, where there is one."""
    if change is None or math.isnan(change.low):
        return None
    return Joined((near_one(change.low), near_one(change.high)), by=" to ")
