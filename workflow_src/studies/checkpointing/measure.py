"""Measures peak memory and time of a training step over what is checkpointed as one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from workflow_src.common.case import Case
from workflow_src.measure.allocations import available_mib, step_peak
from workflow_src.measure.memory import allocated_before
from workflow_src.measure.phases import build
from workflow_src.measure.products import products
from workflow_src.measure.rows import attempt, free, said
from workflow_src.measure.timing import sample_steps
from workflow_src.measure.workload import Workload
from workflow_src.model.attention import MultiHeadAttention
from workflow_src.studies.checkpointing.checkpointed import arranged
from workflow_src.studies.models import case_of
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row


def measure(point: Point) -> list[Row]:
    """Rows of three kinds (`measurement`): ceiling, flat (over sublayers), nesting (by depth)."""
    device = point["device"]
    room: Row = {"available_mib": available_mib(device)}
    case = case_of(point, point["size"], point["precision"])
    ceilings = products(device, point["precision"], point["ceilings"])
    rows: list[Row] = [{"measurement": "ceiling"} | row for row in ceilings]
    rows += [room | row for row in measure_flat(case, point)]
    for depth in point["depths"]:
        rows += [room | row for row in measure_depth(replace(case, layers=depth), point)]
    return rows


def measure_flat(case: Case, point: Point) -> list[Row]:
    """A row per number of sublayers that are checkpointed as one; 0 for no checkpoints."""
    return _rows("flat", case, point, [(number, False) for number in point["sublayers"]])


def measure_depth(case: Case, point: Point) -> list[Row]:
    """A row each of a model without checkpoints, with each block checkpointed, and with nesting."""
    return _rows("nesting", case, point, [(0, False), (2, False), (0, True)])


def _rows(
    measurement: str, case: Case, point: Point, ways: Sequence[tuple[int, bool]]
) -> list[Row]:
    """A row per number of sublayers and whether they are nested, all of one model."""
    free(case.device)
    before = allocated_before(case.device, torch.float32)
    workload, built = build(case)
    names = ("size", "layers", "context", "batch", "precision")
    about = {name: getattr(case, name) for name in names} | {"measurement": measurement}
    return [
        about
        | {"sublayers": number, "nested": nested}
        | _row(workload, built, number, nested, before, point)
        for number, nested in ways
    ]


def _row(
    workload: Workload | None, built: Row, sublayers: int, nested: bool, before: int, point: Point
) -> Row:
    """Samples of a training step, its peak, and how many blocks ran forward in one step."""
    if workload is None:
        return built
    run = partial(_measured, workload, sublayers, nested, before, point)
    name = "nested" if nested else f"{sublayers} sublayers"
    row = attempt(run, workload.release)
    return said(f"{workload.case.case}, {name}", row)


def _measured(workload: Workload, sublayers: int, nested: bool, before: int, point: Point) -> Row:
    device = workload.case.device
    with arranged(workload.model, sublayers, nested):
        if not workload.optimizer.state:
            # Its first step makes the optimizer's state, which would otherwise miss in a peak.
            workload.train_step()
        with _attention_calls() as calls:
            peak = step_peak(workload, "train_step", before)
        times = sample_steps(workload.train_step, device, 0, point["steps"])
    return times | peak | {"attention_calls": len(calls)}


@contextmanager
def _attention_calls() -> Iterator[list[nn.Module]]:
    """A list that has, afterwards, an entry per forward pass of an attention, first or repeated."""
    calls: list[nn.Module] = []

    def note(module: nn.Module, given: object) -> None:
        if isinstance(module, MultiHeadAttention):
            calls.append(module)

    hook = nn.modules.module.register_module_forward_pre_hook(note)
    try:
        yield calls
    finally:
        hook.remove()


if __name__ == "__main__":
    main(measure)
