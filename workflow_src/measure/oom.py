"""Run the phases of a case in rising order of memory; running out of memory is a result."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from workflow_src.common.case import PHASES


@dataclass(frozen=True)
class Outcome:
    """What became of one phase: "ok", "oom" or "skipped" (and why)."""

    phase: str
    status: str
    reason: str = ""


class Releases(Protocol):
    """What the phases need of a workload here."""

    def release(self) -> None:
        """Give memory back."""


def all_skipped(because: str, reason: str) -> list[Outcome]:
    """The outcome of every phase where the model itself did not fit."""
    first = Outcome(PHASES[0], "oom", reason)
    return [first, *(Outcome(phase, "skipped", because) for phase in PHASES[1:])]


def in_rising_order(
    workload: Releases, run: Callable[[str], None], phases: Sequence[str] = PHASES
) -> Iterator[Outcome]:
    """Call `run(phase)` for each of `phases` and yield what became of it.

    After torch.OutOfMemoryError, and nothing else, the phase is "oom", memory is given back and
    the phases that need more are "skipped". Any other exception passes through.
    """
    too_large = ""
    for phase in phases:
        if too_large:
            yield Outcome(phase, "skipped", f"needs more memory than {too_large}, which ran out")
            continue
        try:
            run(phase)
            yield Outcome(phase, "ok")
        except torch.OutOfMemoryError as error:
            too_large, reason = phase, _first_sentence(error)
        if too_large:
            # Outside the except block: the traceback in there keeps the tensors alive.
            workload.release()
            yield Outcome(phase, "oom", reason)


def _first_sentence(error: torch.OutOfMemoryError) -> str:
    return " ".join(str(error).split()).split(". ")[0]
