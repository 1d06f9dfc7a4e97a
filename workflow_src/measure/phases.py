"""Runs the phases of a case in increasing order of memory, on one workload."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from workflow_src.common.case import PHASES, AnyCase
from workflow_src.measure.brought import blamed
from workflow_src.measure.oom import Row, attempt, free, in_turn
from workflow_src.measure.progress import said
from workflow_src.measure.workload import Workload

MODEL_TOO_LARGE = "the model itself did not fit"
NOTHING_TO_TRAIN = "no parameter of the model needs a gradient"

Built = tuple[Workload | None, Row]
"""A workload, and the row (status, reason) of building it."""


def build(case: AnyCase) -> Built:
    """The workload of a case, and the row (status, reason) of building it.

    The workload is None if not even the model fits in memory.
    """
    made: list[Workload] = []

    def make() -> Row:
        made.append(Workload(case))
        return {}

    row = attempt(make, partial(free, case.device))
    return (made[0] if made else None), row


def run_phases(
    case: AnyCase, run: Callable[[Workload, str], Row], phases: Sequence[str] = PHASES
) -> Iterator[tuple[str, Row]]:
    """Each of `phases` with the row that `run` returns, or with status oom or skipped.

    Prints a line for each.
    """
    yield from run_built(case, build(case), run, phases)


def run_built(
    case: AnyCase,
    built: Built,
    run: Callable[[Workload, str], Row],
    phases: Sequence[str] = PHASES,
) -> Iterator[tuple[str, Row]]:
    """As `run_phases`, on what `build` made."""
    rows = _rows(built, run, phases)
    while True:
        with blamed(case, "a step"):
            phase, row = next(rows, ("", {}))
        if not phase:
            return
        yield phase, said(f"{case.case} {phase}", row)


def _rows(
    built: Built, run: Callable[[Workload, str], Row], phases: Sequence[str]
) -> Iterator[tuple[str, Row]]:
    workload, row = built
    if workload is None:
        yield phases[0], row
        yield from (
            (phase, {"status": "skipped", "reason": MODEL_TOO_LARGE}) for phase in phases[1:]
        )
        return
    possible = [phase for phase in phases if phase in workload.phases]
    yield from in_turn(possible, partial(run, workload), workload.release)
    for phase in phases[len(possible) :]:
        yield phase, {"status": "skipped", "reason": NOTHING_TO_TRAIN}
