"""What torch.compile changes in each phase of the cases that run under it."""

from dataclasses import dataclass, replace

import pandas as pd

from workflow_src.answers.kernels import KERNEL_KINDS, calls, captured
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.common import words
from workflow_src.common.case import COMPILED, EAGER, PHASES
from workflow_src.common.units import MS_PER_S
from workflow_src.paper.value import Cell, Joined, Value, cell_of, computed, difference, ratio


@dataclass(frozen=True)
class Compiled:
    """A row per phase of each compiled case, and one per phase that has graph breaks."""

    phases: pd.DataFrame
    breaks: pd.DataFrame


NOT_COMPILED = Compiled(pd.DataFrame(), pd.DataFrame())
"""Without a compiled case."""


@dataclass(frozen=True)
class Run:
    """One phase of a case: its times, its row of timings, and its kernels per step."""

    times: PhaseTimes
    timed: pd.DataFrame
    kernels: Value | None

    def cell(self, column: str, unit: str) -> Value | None:
        """A cell of its row of timings."""
        return cell_of(self.timed, "timings", column, unit)


def compiled(tables: Tables) -> Compiled:
    """Both tables, from timings, ranges, captures and kernels; empty without a compiled case."""
    cases = [case for case in tables.cases if case.execution == COMPILED]
    pairs = [
        (_run(tables, _eager(tables, case), phase), run)
        for case in cases
        for phase in PHASES
        if len((run := _run(tables, case, phase)).timed)
    ]
    lines = [_breaks(run) for _, run in pairs]
    rows = [_row(before, run) for before, run in pairs]
    return Compiled(
        pd.DataFrame(rows, dtype="object"),
        pd.DataFrame([line for line in lines if line], dtype="object"),
    )


def _eager(tables: Tables, case: CaseKey) -> CaseKey:
    """The case that differs in its execution alone; one of no rows where the run has none."""
    plain = replace(case, case="", execution=EAGER)
    return next((each for each in tables.cases if replace(each, case="") == plain), plain)


def _run(tables: Tables, case: CaseKey, phase: str) -> Run:
    _, rows = captured(tables, case.case, phase)
    timed = tables.of("timings", case.case, phase)
    kernels = calls(rows[rows["kind"].isin(KERNEL_KINDS)])
    return Run(phase_times(tables, case, phase), timed, kernels)


def _row(before: Run, run: Run) -> dict[str, Cell]:
    """A phase as it is and compiled."""
    ms = run.cell("compile_ms", "ms")
    saved = difference(before.times.plain, run.times.plain, "eager - compiled")
    state = None if run.times.state == "ok" else words.STATES[run.times.state]
    return {
        "case": run.times.case.case,
        "phase": words.PHASES[run.times.phase],
        "plain, ms": Joined((before.times.plain, state or run.times.plain)),
        "eager / compiled": ratio(before.times.plain, run.times.plain, "times"),
        "as CUDA graphs": Joined((before.times.replayed, run.times.replayed)),
        "saved on the device": ratio(_on_device(before, run), saved, "share", "replays / plain"),
        "device, ms": Joined((before.times.busy, run.times.busy)),
        "kernels": Joined((before.kernels, run.kernels)),
        "peak memory, GiB": Joined((before.times.peak_memory, run.times.peak_memory)),
        "to compile, s": ms and computed(ms.number / MS_PER_S, "s", "ms / 1000", ms),
        "pays after": _steps(ms, saved),
        "graphs": run.cell("graphs", "count"),
        "breaks": run.cell("graph_breaks", "count"),
    }


def _on_device(before: Run, run: Run) -> Value | None:
    """What a phase takes less as a CUDA graph, in which no work waits for its launch."""
    return difference(before.times.replayed, run.times.replayed, "replayed eager - compiled")


def _steps(ms: Value | None, saved: Value | None) -> Value | None:
    """After how many steps compiling has paid; None where a step saves nothing."""
    if ms is None or saved is None or not saved.number > 0:
        return None
    return computed(ms.number / saved.number, "count", "time to compile / saved", ms, saved)


def _breaks(run: Run) -> dict[str, Cell] | None:
    """Where graphs of a phase ended, and why."""
    found = (
        str(run.timed["graph_break_reasons"].iloc[0]) if "graph_break_reasons" in run.timed else ""
    )
    if not found:
        return None
    about: dict[str, Cell] = {"case": run.times.case.case, "phase": words.PHASES[run.times.phase]}
    return about | {"why": found}
