"""What each remedy saves of a phase, or could at most, and which of them comes first."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import pandas as pd

from workflow_src.answers.kernels import PRODUCTS, captured, device_ms
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.common.case import (
    ATTENTIONS,
    OPTIMIZER_TRAFFIC_BYTES,
    OPTIMIZERS,
    PHASES,
    PRECISIONS,
)
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.placing.kernel_words import CASTS, optimizer_of
from workflow_src.render.value import Value, computed, ratio, rows_of, value

Times = Mapping[tuple[CaseKey, str], PhaseTimes]
"""The times of cases by case and phase."""


class Remedy(StrEnum):
    """What can be changed; `words.REMEDIES` has its words."""

    LAUNCHES = "launches"
    PRECISION = "precision"
    OPTIMIZER = "optimizer"
    ATTENTION = "attention"
    CASTS = "casts"


BETTER = {
    Remedy.PRECISION: PRECISIONS,
    Remedy.OPTIMIZER: OPTIMIZERS,
    Remedy.ATTENTION: ("eager", *ATTENTIONS),
}
"""The values of the axis that a remedy is named after, from plain to better.

What transformers calls eager is written out.
"""

IN_ATTENTION = frozenset({"scores", "softmax", "values"})
"""The ranges of attention written out that fused attention replaces."""


@dataclass(frozen=True)
class Saving:
    """What a remedy saves of a phase in ms, and as a share of its plain time.

    `measured`: the phase was run with the remedy, and its device didn't wait for launches then. If
    not, it is a bound: device time that the remedy removes, or time in which the device is idle.
    """

    remedy: Remedy
    ms: Value
    share: Value
    measured: bool


@dataclass(frozen=True)
class OfPhase:
    """What could be saved of a phase of a case: nothing if its times can't be compared.

    `state` says why there is nothing; "ok" otherwise. `first` is the remedy that comes first.
    """

    times: PhaseTimes
    state: str
    savings: tuple[Saving, ...]
    first: Saving | None

    def by(self, remedy: Remedy) -> Saving | None:
        """What a remedy saves; None if nothing is known of it."""
        return next((each for each in self.savings if each.remedy is remedy), None)


@dataclass(frozen=True)
class First:
    """What comes first in a case, by phase."""

    case: CaseKey
    phases: Mapping[str, OfPhase]


def firsts(tables: Tables) -> dict[CaseKey, First]:
    """What comes first in each case."""
    times = _times(tables, tables.cases)
    return {case: _first(tables, case, times) for case in tables.cases}


def first_of_case(tables: Tables, case: CaseKey) -> First:
    """What comes first in one case; other precisions are known where `tables` has their cases."""
    near = [each for each in tables.cases if any(_is_better(each, case, axis) for axis in BETTER)]
    return _first(tables, case, _times(tables, [case, *near]))


def _times(tables: Tables, cases: Iterable[CaseKey]) -> Times:
    return {(case, phase): phase_times(tables, case, phase) for case in cases for phase in PHASES}


def _first(tables: Tables, case: CaseKey, times: Times) -> First:
    return First(case, {phase: of_phase(tables, case, phase, times) for phase in PHASES})


def of_phase(tables: Tables, case: CaseKey, phase: str, times: Times) -> OfPhase:
    """What each remedy saves of a phase, and which comes first."""
    mine = times[case, phase]
    states = [state for state in (mine.state, mine.profiled_state) if state != "ok"]
    if states or not mine.comparable:
        return OfPhase(mine, states[0] if states else "not_comparable", (), None)
    found = _savings(tables, case, phase, times)
    return OfPhase(mine, "ok", found, chosen(found, mine.working))


def chosen(savings: Iterable[Saving], working: Value | None) -> Saving | None:
    """The remedy that comes first: launches, if the device waits for them, else what saves most.

    The device waits if it works for less than LAUNCH_BOUND_BELOW of the plain time: what is saved
    of its work then needn't shorten the step. None if nothing is saved.
    """
    found = [each for each in savings if each.ms.number > 0]
    waiting = waits(working)
    launches = [each for each in found if waiting and each.remedy is Remedy.LAUNCHES]
    return max(launches or found, key=lambda each: each.ms.number, default=None)


def waits(working: Value | None) -> bool:
    """Whether the device waits for its launches, given the share of the plain time it works for."""
    return working is not None and working.number < LAUNCH_BOUND_BELOW


def _savings(tables: Tables, case: CaseKey, phase: str, times: Times) -> tuple[Saving, ...]:
    """The remedies of which something is known, in the order of Remedy."""
    mine, (_, rows) = times[case, phase], captured(tables, case.case, phase)
    bounds: dict[Remedy, Callable[[], Value | None]] = {
        Remedy.OPTIMIZER: lambda: _optimizer(case, rows),
        Remedy.ATTENTION: lambda: _attention(tables, case, phase, rows),
        Remedy.CASTS: lambda: device_ms(_casts(case, rows)),
    }
    found = [_launches(mine)]
    for remedy in list(Remedy)[1:]:
        other = _in_another_case(case, phase, remedy, times) if remedy in BETTER else None
        if other is None:
            ms = bounds[remedy]() if remedy in bounds else None
            found.append(_saving(remedy, ms, mine, measured=False))
        else:
            ms = _less_device_time(mine, other)
            found.append(_saving(remedy, ms, mine, measured=not waits(other.working)))
    return tuple(each for each in found if each)


def _saving(remedy: Remedy, ms: Value | None, times: PhaseTimes, measured: bool) -> Saving | None:
    share = ratio(ms, times.plain, "share", "saved / plain")
    return Saving(remedy, ms, share, measured) if ms and share else None


def _launches(times: PhaseTimes) -> Saving | None:
    """What a replay of the same phase saves; the time beside the device's if there was none.

    None on a CPU, which launches nothing.
    """
    if times.case.on_cpu:
        return None
    plain, replayed, busy = times.plain, times.replayed, times.busy
    if plain and replayed:
        ms = computed(plain.number - replayed.number, "ms", "plain - replayed", plain, replayed)
        return _saving(Remedy.LAUNCHES, ms, times, measured=True)
    if plain and busy:
        rest = max(0.0, plain.number - busy.number)
        ms = computed(rest, "ms", "plain - device, at least 0", plain, busy)
        return _saving(Remedy.LAUNCHES, ms, times, measured=False)
    return None


def _is_better(other: CaseKey, case: CaseKey, remedy: Remedy) -> bool:
    """Whether a case differs from another only in that it has the remedy."""
    order, axis = BETTER[remedy], remedy.value
    mine, its = getattr(case, axis), getattr(other, axis)
    if mine not in order or its not in order or order.index(its) <= order.index(mine):
        return False
    return replace(other, **{axis: mine, "case": case.case}) == case


def _in_another_case(case: CaseKey, phase: str, remedy: Remedy, times: Times) -> PhaseTimes | None:
    """The phase in the case of least device time of those that differ in the remedy alone."""
    if remedy is Remedy.OPTIMIZER and phase != PHASES[-1]:
        return None
    found = [
        (each.busy.number, each)
        for (other, of), each in times.items()
        if of == phase and each.busy and _is_better(other, case, remedy)
    ]
    return min(found, key=lambda each: each[0])[1] if found else None


def _less_device_time(times: PhaseTimes, other: PhaseTimes) -> Value | None:
    """How much less device time another case takes.

    Plain times of cases that wait for launches differ by their hosts; device time doesn't.
    """
    mine, its = times.busy, other.busy
    if mine is None or its is None:
        return None
    formula = "device time - device time in the other case"
    return computed(mine.number - its.number, "ms", formula, mine, its)


def _inside(rows: pd.DataFrame, ranges: frozenset[str]) -> pd.DataFrame:
    """The rows that were launched inside one of some ranges."""
    inside = [bool(ranges & set(str(path).split("/"))) for path in rows["path"]]
    return rows[pd.Series(inside, index=rows.index, dtype=bool)]


def _in_attention(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows in ranges of IN_ATTENTION, or in attention without any range inside it.

    Such rows are of tables whose record lost the inner range; a limit must have their time.
    """
    lost = rows["path"].astype(str).str.endswith("/attention")
    return rows[lost | rows.index.isin(_inside(rows, IN_ATTENTION).index)]


def _optimizer(case: CaseKey, rows: pd.DataFrame) -> Value | None:
    """What a fused optimizer saves if it moves its bytes at the rate of this one.

    Of a brought model's optimizer only the names of its kernels tell; None where they don't.
    """
    mine = _inside(rows, frozenset({"optimizer"}))
    own = case.optimizer in OPTIMIZER_TRAFFIC_BYTES
    kind = case.optimizer if own else optimizer_of(mine["name"]) or "fused"
    ms = device_ms(mine)
    more = 1 - OPTIMIZER_TRAFFIC_BYTES["fused"] / OPTIMIZER_TRAFFIC_BYTES[kind]
    formula = "optimizer's device time * (1 - bytes of a fused one / its bytes)"
    return computed(ms.number * more, "ms", formula, ms) if ms and more else None


def _attention(tables: Tables, case: CaseKey, phase: str, rows: pd.DataFrame) -> Value | None:
    """The passes over the T x T matrix that aren't products, forward and backward.

    None if they are fused. Only forward has ranges, so that of a longer phase operators.csv tells,
    whose paths in backward are those of the forward operator; None without it.
    """
    if case.attention == "sdpa":
        return None
    if phase == PHASES[0]:
        return device_ms(_not_products(_inside(rows, IN_ATTENTION)))
    mine = _not_products(_in_attention(tables.of("operators", case.case, phase)))
    ms = mine["busy_ms_per_step"].to_numpy().sum()
    return (
        value(ms, "ms", rows_of("operators", mine), formula="sum over operators")
        if len(mine)
        else None
    )


def _not_products(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[~rows["family"].isin(PRODUCTS)]


def _casts(case: CaseKey, rows: pd.DataFrame) -> pd.DataFrame:
    lower = case.precision in ("bf16", "fp16")
    return rows[rows["what"].isin(CASTS)] if lower else rows.iloc[:0]
