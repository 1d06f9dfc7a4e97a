"""The times of one phase of one case: without the profiler, under it, and on the device."""

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import StrEnum

import pandas as pd

from workflow_src.answers.doubts import Warned, power_limited, recorded_warnings
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.thresholds import (
    MATCH_WITHIN,
    REPLAY_AT_LEAST,
    SPREAD_BEYOND,
    WORKING_FULLY,
)
from workflow_src.common.units import MIB_PER_GIB, NS_PER_MS
from workflow_src.paper.value import (
    Ranged,
    Rounded,
    Value,
    cell_of,
    complement,
    computed,
    median,
    ratio,
    rows_of,
    total,
    value,
)

OTHER_KERNELS = "it took less time than the kernels of a plain step, so it ran other ones"


class Doubt(StrEnum):
    """Why a phase's times without and with the profiler can't be compared, on a CPU."""

    BUSY = "other work kept the machine busy"
    SPREAD = "its samples spread widely"
    SHORTER = "it was faster under the profiler than without"
    LONGER = "its operators alone took longer under the profiler than all of it without"


@dataclass(frozen=True)
class Idle:
    """The device's idle time in a profiled step by cause: medians over steps, in ms."""

    launch: Value
    queued: Value
    other: Value
    unexplained: Value


@dataclass(frozen=True)
class PhaseTimes:
    """The times (ms) of a phase of a case; what wasn't measured is None.

    `state` is "ok" where the phase ran without the profiler, or else why it has no times;
    `profiled_state` says the same of the capture. `plain` is the median of unprofiled steps, over
    all processes; `fastest` and `slowest` are the medians of single processes, where there were
    several. `profiled`, `busy` and `span` are medians over the captured steps: the step on the
    host's clock, the sum of its device work, and that work from its first start to its last end.
    `replayed` is the phase as a CUDA graph, `saved_least` and `saved_most` the shares that a replay
    saves in single processes. `clock` (MHz) and `power` (W) are the GPU's while the phase ran,
    `capped` is the share of readings in which the driver lowered the clock for power.
    `pairs`: how many times as long a step takes with the profiler, of each pair of processes.
    """

    case: CaseKey
    phase: str
    state: str
    reason: str
    profiled_state: str
    processes: int
    plain: Value | None
    fastest: Value | None
    slowest: Value | None
    profiled: Value | None
    busy: Value | None
    span: Value | None
    replay_state: str
    replay_reason: str
    replayed: Value | None
    saved_least: Value | None
    saved_most: Value | None
    idle: Idle | None
    peak_memory: Value | None
    doubt: Doubt | None
    clock: Ranged | None = None
    power: Value | None = None
    capped: Value | None = None
    pairs: tuple[Value, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether it is compared with the profiled step by one process alone."""
        return self.overhead is not None and self.processes == 1 and not self.pairs

    @property
    def of_one(self) -> bool:
        """Whether its plain time is of one process."""
        return self.plain is not None and self.fastest is None

    @property
    def is_luck(self) -> bool:
        """Whether that process's host sets the pace, so that another may take another time."""
        return self.of_one and self.waits and not self.case.on_cpu

    @property
    def plain_told(self) -> Value | Rounded | None:
        """The plain time, in two digits where it is one process's luck."""
        return Rounded(self.plain) if self.plain and self.is_luck else self.plain

    @property
    def power_limited(self) -> bool:
        """Whether the driver lowered the clock for power while plain steps ran."""
        return power_limited(self.capped)

    @property
    def complete(self) -> bool:
        """Whether the phase was both measured and captured."""
        return self.state == self.profiled_state == "ok"

    @property
    def comparable(self) -> bool:
        """Whether the times without and with the profiler may be compared."""
        return self.doubt in (None, Doubt.LONGER)

    @property
    def working(self) -> Value | None:
        """The share of the unprofiled time for which the device works; None where in doubt."""
        return ratio(self.busy, self.plain, "share", "device / plain") if not self.doubt else None

    @property
    def waits(self) -> bool:
        """Whether the device idles for so much of the plain time that launches set its pace."""
        return self.working is not None and self.working.number < WORKING_FULLY

    @property
    def overhead(self) -> Value | None:
        """By what share the profiled step is longer than the plain one; None where in doubt.

        By pairs of processes, which share their minute, where there are any.
        """
        return _beyond_1(median(self.pairs)) or self.longer

    @property
    def longer(self) -> Value | None:
        """The same by the captured steps alone, whose process is another."""
        return _beyond_1(ratio(self.profiled, self.plain, "change")) if self.comparable else None

    @property
    def saved(self) -> Value | None:
        """The share of the plain time that a replay saves; below 0 where it takes longer."""
        return complement(ratio(self.replayed, self.plain, "share"), "1 - replayed / plain")


def _beyond_1(slower: Value | None) -> Value | None:
    return slower and computed(slower.number - 1, "change", "profiled / plain - 1", slower)


def phase_times(tables: Tables, case: CaseKey, phase: str) -> PhaseTimes:
    """The times of one phase, from timings, ranges, captures, ledger and environments."""
    timed = tables.of("timings", case.case, phase)
    steps = tables.of("ranges", case.case, phase)
    whole = steps[steps["path"] == phase]
    state, reason = _state(timed)
    profiled_state = _profiled_state(state, tables.of("captures", case.case), whole)
    captured = whole if profiled_state == "ok" else whole.iloc[:0]
    plain = (
        cell_of(timed, "timings", "median_ms", formula="median over steps")
        if state == "ok"
        else None
    )
    replay_state = _text(timed, "replay_status")
    replayed = replay_state == "ok"
    found = PhaseTimes(
        case=case,
        phase=phase,
        state=state,
        reason=reason,
        profiled_state=profiled_state,
        processes=_processes(timed),
        plain=plain,
        fastest=_of_several(timed, "fastest_ms"),
        slowest=_of_several(timed, "slowest_ms"),
        profiled=_over_steps(
            whole if profiled_state in ("ok", "no_activity") else captured, "host_ms"
        ),
        busy=_over_steps(captured, "busy_ms"),
        span=_over_steps(captured, "span_ms"),
        replay_state=replay_state,
        replay_reason=_text(timed, "replay_reason"),
        replayed=cell_of(timed, "timings", "replayed_median_ms", formula="median over replays")
        if replayed
        else None,
        saved_least=_saved(timed, "least_launch_bound_share", "fastest_ms") if replayed else None,
        saved_most=_saved(timed, "most_launch_bound_share", "slowest_ms") if replayed else None,
        idle=_idle(case, tables.of("ledger", case.case, phase)),
        peak_memory=_memory(timed) if state == "ok" else None,
        doubt=None,
        clock=_clock(timed),
        power=cell_of(timed, "timings", "power_w", "W", "median of readings"),
        capped=cell_of(timed, "timings", "power_capped_share", "share", "of readings"),
    )
    doubt = _doubt(found, timed, recorded_warnings(tables, case.case))
    return _of_same_kernels(replace(found, doubt=doubt))


def _of_same_kernels(times: PhaseTimes) -> PhaseTimes:
    """Times without a replay that took less than the kernels of a plain step: it ran others.

    Code may ask whether a graph is being captured, as transformers does for its masks.
    """
    replayed, busy = times.replayed, times.busy
    if not replayed or not busy or replayed.number >= REPLAY_AT_LEAST * busy.number:
        return times
    lost = replace(times, replayed=None, saved_least=None, saved_most=None)
    return replace(lost, replay_state="not_comparable", replay_reason=OTHER_KERNELS)


def _state(timed: pd.DataFrame) -> tuple[str, str]:
    """The state of a phase in the benchmark, and its reason."""
    if timed.empty:
        return "not_measured", ""
    state, reason = str(timed["status"].iloc[0]), str(timed["reason"].iloc[0])
    return ("not_measured" if state == "missing" else state), reason


def captured_state(tables: Tables, case: str, phase: str, captured: pd.DataFrame) -> str:
    """The state of a phase in the capture, given what was captured of it: "ok", or why not."""
    state, _ = _state(tables.of("timings", case, phase))
    return _profiled_state(state, tables.of("captures", case), captured)


def _profiled_state(state: str, captures: pd.DataFrame, captured: pd.DataFrame) -> str:
    """The state of a phase in the capture.

    One that ran out of memory is "oom" even if part of one of its steps was captured.
    """
    if state in ("oom", "skipped", "failed"):
        return state
    if len(captures) and not captures["total_ns"].sum() > 0:
        return "no_activity"
    return "not_measured" if captured.empty else "ok"


def _clock(timed: pd.DataFrame) -> Ranged | None:
    names = ("sm_clock_mhz", "sm_clock_least_mhz", "sm_clock_most_mhz")
    middle, least, most = (cell_of(timed, "timings", name, "MHz", "of readings") for name in names)
    return Ranged(middle, least, most) if middle else None


def _of_several(timed: pd.DataFrame, column: str) -> Value | None:
    several = _processes(timed) > 1
    return cell_of(timed, "timings", column, formula="median of one process") if several else None


def _saved(timed: pd.DataFrame, recorded: str, plain: str) -> Value | None:
    """The share that a replay saves of one process's plain time; None without several processes.

    Where the run recorded none, of the median replay, which differs by under 2 % between processes.
    """
    replayed = cell_of(timed, "timings", "replayed_median_ms", formula="median over replays")
    share = complement(ratio(replayed, _of_several(timed, plain), "share"), "1 - replayed / plain")
    return cell_of(timed, "timings", recorded, "share", "in one process") or share


def _processes(timed: pd.DataFrame) -> int:
    known = timed["processes"].dropna() if "processes" in timed else timed.iloc[:0]
    return int(float(str(known.iloc[0]))) if len(known) else 1


def _text(timed: pd.DataFrame, column: str) -> str:
    return str(timed[column].iloc[0]) if len(timed) and column in timed else ""


def _over_steps(steps: pd.DataFrame, column: str) -> Value | None:
    rows = rows_of("ranges", steps)
    return value(steps[column].median(), "ms", rows, formula="median over steps")


def _memory(timed: pd.DataFrame) -> Value | None:
    mib = cell_of(timed, "timings", "peak_memory_mib", "MiB", "")
    return mib and computed(mib.number / MIB_PER_GIB, "GiB", "MiB / 1024", mib)


def _idle(case: CaseKey, steps: pd.DataFrame) -> Idle | None:
    """Idle time by cause; None on a CPU, and of captures without API calls."""
    if case.on_cpu or "idle_launch_ns" not in steps:
        return None
    launch, queued, unexplained, *others = (
        _idle_ms(steps, f"idle_{cause}_ns")
        for cause in ("launch", "queued", "unexplained", "synchronization", "tail", "profiler")
    )
    other = total([unexplained, *others])
    if launch is None or queued is None or other is None or unexplained is None:
        return None
    return Idle(launch, queued, other, unexplained)


def _idle_ms(steps: pd.DataFrame, column: str) -> Value | None:
    if column not in steps:
        return None
    ms = steps[column].median() / NS_PER_MS
    return value(ms, "ms", rows_of("ledger", steps), formula="median over steps")


def _doubt(times: PhaseTimes, timed: pd.DataFrame, warned: Set[Warned]) -> Doubt | None:
    """Why the two times of a phase on a CPU can't be compared; None if they can.

    A GPU works as fast whatever else its host does.
    """
    if not times.case.on_cpu or times.plain is None or times.profiled is None:
        return None
    plain, profiled = times.plain.number, times.profiled.number
    p20, p80 = (float(timed[column].iloc[0]) for column in ("p20_ms", "p80_ms"))
    if Warned.BUSY in warned:
        return Doubt.BUSY
    if p80 > SPREAD_BEYOND * p20:
        return Doubt.SPREAD
    if profiled < min((1 - MATCH_WITHIN) * plain, p20):
        return Doubt.SHORTER
    return Doubt.LONGER if times.busy is not None and times.busy.number > plain else None
