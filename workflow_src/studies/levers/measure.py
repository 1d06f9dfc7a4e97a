"""Measures a variant of a case: its results, its phases, and what compiling it takes."""

import time
from contextlib import nullcontext
from functools import partial
from typing import Any

from workflow_src.common.case import PHASES, Case
from workflow_src.common.errors import UnavailableError
from workflow_src.measure.activities import activities_of
from workflow_src.measure.benchmark import timed_steps
from workflow_src.measure.compiling import empty_caches
from workflow_src.measure.cuda_graph import NotCapturableError
from workflow_src.measure.memory import reset_peak
from workflow_src.measure.rows import attempt, free, in_turn, said
from workflow_src.studies.levers.errors import errors, reference_of
from workflow_src.studies.levers.points import Variant
from workflow_src.studies.levers.trial import Trial, case_at, needs
from workflow_src.studies.refusals import refusal
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row


def measure(point: Point) -> list[Row]:
    """Rows by `measurement`: "phase" for each phase, "compile" and "error".

    "rounded_error" joins them where compiled gradients are not finite. The first of several
    processes does all; the others only time the phases.
    """
    variant, case = Variant.of(point), case_at(point)
    why = needs(case, variant)
    if why:
        return no_phases({"status": "not_supported", "reason": why})
    first = point.get("process", 0) == 0
    reference = _reference(case) if first else {}
    trial, built = _build(case, variant)
    if trial is None:
        return no_phases(built)
    compiled = _compile(trial, cold=first)
    if any(row["status"] != "ok" for row in compiled):
        return no_phases(next(row for row in compiled if row["status"] != "ok"))
    error = _errors(trial, reference) if first else {}
    reference.clear()
    rows = [*compiled, *([error] if error else []), *measure_phases(trial, point, profiled=first)]
    del trial
    free(case.device)
    if variant.compiled and error.get("gradients_error", 0.0) is None:
        rows.append(_rounded(case, variant))
    return rows


def no_phases(row: Row) -> list[Row]:
    """The rows of all phases of a variant that can't run; `row` has the status and the reason."""
    common = {"measurement": "phase", "status": row["status"], "reason": row["reason"]}
    return [common | {"phase": phase} for phase in PHASES]


def _reference(case: Case) -> Row:
    """The reference under "reference", or why there is none."""
    row = attempt(lambda: {"reference": reference_of(case)}, partial(free, case.device))
    # The model and its gradients on the device are dropped before anything is timed.
    free(case.device)
    return row


def _build(case: Case, variant: Variant, rounded: bool = False) -> tuple[Trial | None, Row]:
    made: list[Trial] = []

    def make() -> Row:
        try:
            made.append(Trial(case, variant, rounded))
        except UnavailableError as error:
            return {"status": "not_supported", "reason": str(error)}
        return {}

    row = attempt(make, partial(free, case.device))
    return (made[0] if made else None), row


def _compile(trial: Trial, cold: bool) -> list[Row]:
    """The time of the first call in each mode, which compiles; nothing for other variants.

    `cold`: all of it, as for a model never run before.
    """
    if not trial.variant.compiled:
        return []
    with empty_caches() if cold else nullcontext():
        return [_first_call(trial, phase) for phase in ("forward", "forward_backward")]


def _first_call(trial: Trial, phase: str) -> Row:
    workload = trial.workload

    def run() -> Row:
        start = time.perf_counter_ns()
        why = refusal(workload.phase(phase))
        if why:
            return {"status": "not_supported", "reason": why}
        workload.synchronize()
        return {"samples_ns": [time.perf_counter_ns() - start]}

    row = said(f"compile {phase}", attempt(run, workload.release))
    return {"measurement": "compile", "phase": phase} | row


def _errors(trial: Trial, reference: Row) -> Row:
    if reference["status"] != "ok":
        reason = f"no reference: {reference['reason']}"
        return {"measurement": "error", "status": reference["status"], "reason": reason}

    def compared() -> Row:
        try:
            return errors(trial, reference["reference"])
        except NotCapturableError as error:
            return {"status": "not_capturable", "reason": str(error)}

    row = attempt(compared, trial.workload.release)
    free(trial.workload.case.device)
    return {"measurement": "error"} | row


def _rounded(case: Case, variant: Variant) -> Row:
    """The errors again, with values rounded inside of compiled kernels as between plain ones.

    Tells whether it is by leaving such roundings out that compiling breaks the results.
    """
    reference = _reference(case)
    trial, built = _build(case, variant, rounded=True)
    row = built if trial is None else _errors(trial, reference)
    return row | {"measurement": "rounded_error"}


def measure_phases(trial: Trial, point: Point, profiled: bool) -> list[Row]:
    """A row per phase: samples on both clocks, peak memory and, if `profiled`, activities."""
    run = partial(_phase, trial, point, profiled)
    found = in_turn(PHASES, run, trial.workload.release)
    name = f"{point['case']} {trial.variant.name}"
    about: dict[str, Any] = {"measurement": "phase"}
    return [about | {"phase": phase} | said(f"{name} {phase}", row) for phase, row in found]


def _phase(trial: Trial, point: Point, profiled: bool, phase: str) -> Row:
    device = trial.workload.case.device
    # Gradients of what ran before would count as this phase's memory.
    trial.workload.optimizer.zero_grad(set_to_none=True)
    free(device)
    reset_peak(device)
    try:
        step = trial.call(phase)
    except NotCapturableError as error:
        return {"status": "not_capturable", "reason": str(error)}
    row = timed_steps(step, device, point["warmup_steps"], point["steps"])
    if not profiled:
        return row
    return row | {"activities": activities_of(step, device)}


if __name__ == "__main__":
    main(measure, module="workflow_src.studies.levers.measure")
