"""Recorded steps made by hand, for replays that one checks by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.recording import Recording


@dataclass(frozen=True)
class Call:
    """A host call: the host's time before it, its own, and what it launches and waits for.

    work: the lane and the length of each activity that it launches; waits: rows of activities.
    """

    gap: int
    cost: int
    work: Sequence[tuple[int, int]] = ()
    waits: Sequence[int] = ()
    kind: str = "launch"
    beside: bool = False


@dataclass
class Model:
    """One or more steps, each a list of calls; activities start when their launch has returned."""

    steps: Sequence[Sequence[Call]]
    latency: int = 0
    between: int = 0
    backlog: Sequence[tuple[int, int]] = ()
    ties: Sequence[tuple[int, int]] = ()
    calls: list[Call] = field(init=False)

    def __post_init__(self) -> None:
        self.calls = [call for step in self.steps for call in step]

    def recording(self) -> Recording:
        """The model's tables. What was recorded isn't in them: only its first call's beginning."""
        work = [(NOWHERE, lane, end) for lane, end in self.backlog]
        work += [(n, *each) for n, call in enumerate(self.calls) for each in call.work]
        waits = [(n, row, 0, True) for n, call in enumerate(self.calls) for row in call.waits]
        lasts = np.cumsum([len(step) for step in self.steps]) - 1
        return Recording(
            1,
            self._calls(),
            self._work(work),
            pd.DataFrame(waits, columns=["call", "work", "return_ns", "blocked"]),
            pd.DataFrame([(*tie, 0) for tie in self.ties], columns=["work", "after", "gap_ns"]),
            self._steps(lasts),
        )

    def _calls(self) -> pd.DataFrame:
        first = self.calls[0].gap
        columns = {
            "kind": [call.kind for call in self.calls],
            "gap_ns": [call.gap for call in self.calls],
            "cost_ns": [call.cost for call in self.calls],
            "beside": [call.beside for call in self.calls],
            "step": np.repeat(np.arange(len(self.steps)), [len(step) for step in self.steps]),
            "start_ns": first,
            "end_ns": first,
            "name": "call",
            "path": NOWHERE,
            "thread": 1,
        }
        return pd.DataFrame(columns)

    def _work(self, rows: Sequence[tuple[int, int, int]]) -> pd.DataFrame:
        table = pd.DataFrame(rows, columns=["call", "lane", "end_ns"], dtype="int64")
        others: dict[str, Any] = {"kind": "kernel", "name": "gemm", "family": "gemm"}
        others |= {"path": NOWHERE, "step": 0, "activity": range(len(rows))}
        return table.assign(**others, start_ns=0, latency_ns=self.latency, gap_ns=self.between)

    def _steps(self, lasts: np.ndarray) -> pd.DataFrame:
        firsts = np.append(0, lasts[:-1] + 1)
        end = self.calls[0].gap
        columns = {"start_ns": 0, "end_ns": end, "call": firsts, "last_call": lasts, "time_ns": 1}
        return pd.DataFrame(columns)
