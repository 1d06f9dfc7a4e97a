"""Measures a variant of a case: its results and its phases."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from torch import Tensor

from workflow_src.common.case import COMPILED, EAGER, NEEDS_CUDA, PHASES, Case
from workflow_src.measure.activities import activities_of
from workflow_src.measure.compiling import refused
from workflow_src.measure.cuda_graph import graphed
from workflow_src.measure.memory import peak_memory_mib, reset_peak
from workflow_src.measure.rows import attempt, free
from workflow_src.measure.timing import Call, sample_steps
from workflow_src.measure.workload import Workload, build
from workflow_src.studies.levers.variants import Variant
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main


def tasks(point: Point) -> Iterator[Task]:
    """Tasks by `measurement`: "error", and "phase" for each phase.

    The first of several processes does all; the others only time the phases. A variant that can't
    run here, or doesn't fit, has rows of its phases, which say so.
    """
    variant, case = Variant.of(point), case_at(point)
    is_first = point.get("process", 0) == 0
    reference = referred(case) if is_first and not needs(variant, case) else {}
    workload, failed = built(variant, case)
    if workload and is_first and not failed:
        yield Task({"measurement": "error"}, partial(compared, workload, variant, reference))
    reference.clear()
    for phase in PHASES:
        run: Callable[[], Row] = failed.copy
        if workload and not failed:
            run = partial(timed, workload, variant, phase, point, is_first)
        yield Task({"measurement": "phase", "phase": phase}, run, ladder="phases")


def case_at(point: Point) -> Case:
    """The case that a point's variant runs."""
    variant = Variant.of(point)
    plain = case_of(point, point["size"], variant.precision or point["precision"])
    return replace(
        plain,
        attention=variant.attention,
        optimizer=variant.optimizer,
        batch=plain.batch * variant.batches,
        execution=COMPILED if variant.compiled else EAGER,
    )


def needs(variant: Variant, case: Case) -> str:
    """What the variant needs that the case's device can't do, or ""."""
    if case.device == "cuda":
        return ""
    if case.attention in NEEDS_CUDA["attention"]:
        return "Triton compiles only for GPUs"
    return "CUDA graphs need a CUDA device" if variant.graph else ""


def built(variant: Variant, case: Case) -> tuple[Workload | None, Row]:
    """The workload of a variant, compiled if that is to be, and a row that says what failed."""
    if why := needs(variant, case):
        return None, {"status": "not_supported", "reason": why}
    workload, row = build(case, variant.bf16_weights)
    if workload and variant.compiled:
        row = attempt(partial(_compiled, workload), workload.release)
    return workload, row if row["status"] != "ok" else {}


def _compiled(workload: Workload) -> Row:
    def both_passes() -> None:
        workload.forward()
        workload.forward_backward()

    return refused(both_passes, workload.case.device)


def call_of(workload: Workload, variant: Variant, phase: str) -> Call:
    """What runs a step of the phase; with a graph, it replays what is captured now.

    AdamW written out counts its steps in Python, where a replay doesn't count on: there the graph
    ends with backward. Raises NotCapturableError.
    """
    if not variant.graph:
        return workload.phase(phase)
    if phase != "train_step" or variant.optimizer != "adamw":
        with workload.capturable():
            return graphed(workload.phase(phase))
    replay = graphed(workload.forward_backward)

    def step() -> None:
        replay()
        workload.optimizer.step()

    return step


def referred(case: Case) -> Row:
    """What the plain model computes in float32 of the same seed and batch, `logits` and `gradients`
    by name, on the host; or why there is none."""
    plain = replace(case, precision="fp32", attention="naive", optimizer="adamw", execution=EAGER)

    def run() -> Row:
        workload = Workload(plain)
        logits = workload.logits().to("cpu")
        workload.forward_backward()
        found = {name: gradient.to("cpu") for name, gradient in _gradients(workload)}
        return {"logits": logits, "gradients": found}

    row = attempt(run, partial(free, case.device))
    # The model and its gradients on the device are dropped before anything is timed.
    free(case.device)
    return row


def _gradients(workload: Workload) -> list[tuple[str, Tensor]]:
    named = workload.model.named_parameters()
    return [(name, part.grad) for name, part in named if part.grad is not None]


def compared(workload: Workload, variant: Variant, reference: Row) -> Row:
    """The relative error of the variant's logits, and the largest of any parameter's gradient, None
    if not finite; without a reference, why there is none."""
    if reference["status"] != "ok":
        reason = f"no reference: {reference['reason']}"
        return {"status": reference["status"], "reason": reason}
    logits = relative_error(workload.logits(), reference["logits"])
    call_of(workload, variant, "forward_backward")()
    exact = reference["gradients"]
    worst = max(relative_error(found, exact[name]) for name, found in _gradients(workload))
    found = {"logits_error": logits, "gradients_error": worst}
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def relative_error(found: Tensor, exact: Tensor) -> float:
    """max |found - exact| / max |exact|; infinite if anything found isn't finite."""
    on_device = exact.to(found.device)
    worst = (found.detach().float() - on_device).abs().max() / on_device.abs().max()
    error = float(worst)
    return error if math.isfinite(error) else math.inf


def timed(workload: Workload, variant: Variant, phase: str, point: Point, is_profiled: bool) -> Row:
    """Samples on both clocks, peak memory and, if profiled, activities."""
    device = workload.case.device
    # Gradients of what ran before would count as this phase's memory.
    workload.optimizer.zero_grad(set_to_none=True)
    free(device)
    reset_peak(device)
    step = call_of(workload, variant, phase)
    row = sample_steps(step, device, point["warmup_steps"], point["steps"])
    row |= {"peak_memory_mib": peak_memory_mib(device)}
    return row | ({"activities": activities_of(step, device)} if is_profiled else {})


if __name__ == "__main__":
    main(tasks, "workflow_src.studies.levers.measure")
