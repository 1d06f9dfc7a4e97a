"""Runs the phases of a case in increasing order of memory, on one workload."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from workflow_src.common.case import PHASES, Case
from workflow_src.measure.oom import Row, attempt, free, in_turn
from workflow_src.measure.progress import said
from workflow_src.measure.workload import Workload

MODEL_TOO_LARGE = "the model itself did not fit"

Built = tuple[Workload | None, Row]
"""A workload, and the row (status, reason) of building it."""


def build(case: Case) -> Built:
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
    case: Case, run: Callable[[Workload, str], Row], phases: Sequence[str] = PHASES
) -> Iterator[tuple[str, Row]]:
    """Each of `phases` with the row that `run` returns, or with status oom or skipped.

    Prints a line for each.
    """
    yield from run_built(case, build(case), run, phases)


def run_built(
    case: Case,
    built: Built,
    run: Callable[[Workload, str], Row],
    phases: Sequence[str] = PHASES,
) -> Iterator[tuple[str, Row]]:
    """As `run_phases`, on what `build` made."""
    for phase, row in _rows(built, run, phases):
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
    yield from in_turn(phases, partial(run, workload), workload.release)
