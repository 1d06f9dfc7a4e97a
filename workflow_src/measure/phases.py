"""Runs the phases of a case in increasing order of memory, on one workload."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from workflow_src.common.case import PHASES, AnyCase, Brought
from workflow_src.measure.brought import blamed
from workflow_src.measure.rows import Row, attempt, free, in_turn, said
from workflow_src.measure.workload import Workload

NOTHING_TO_TRAIN = "no parameter of the model needs a gradient"

Built = tuple[Workload | None, Row]
"""A workload, and the row (status, reason) of building it."""


def build(case: AnyCase, *how: bool) -> Built:
    """The workload of a case, built as a study says, None if not even the model fits in memory, and
    the row of that."""
    row = attempt(lambda: {"made": Workload(case, *how)}, partial(free, case.device))
    return row.pop("made", None), row


def run_phases(
    case: AnyCase,
    run: Callable[[Workload, str], Row],
    phases: Sequence[str] = PHASES,
    built: Built | None = None,
) -> Iterator[tuple[str, Row]]:
    """Each of `phases` with the row that `run` returns, or with status oom or skipped.

    On what `build` made, if it is given. Prints a line for each.
    """
    workload, built_row = built or build(case)

    def step(phase: str) -> Row:
        if workload is None:
            return built_row
        if phase not in workload.phases:
            return {"status": "skipped", "reason": NOTHING_TO_TRAIN}
        with blamed(case.brought_code, "a step", isinstance(case, Brought)):
            return run(workload, phase)

    for phase, row in in_turn(phases, step, workload.release if workload else lambda: None):
        yield phase, said(f"{case.case} {phase}", row)
