"""A phase's work as a recording: one step whose launches the host makes one after another."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import Factors, Mask
from workflow_src.diagnosis.recording import (
    CALLS,
    LAUNCH,
    QUEUE,
    STEPS,
    TIES,
    WAITS,
    WORK,
    Recording,
)
from workflow_src.diagnosis.remedies.work import BACKWARD, CORE, ELEMENTWISE, PASSES

UNIT_NS = 1_000_000
"""The host's time before each launch of a recording: replays scale it to what it is."""


TEXTS = ("pass", "path", "leaf", "kind", "operator")


class Chains(NamedTuple):
    """Elementwise kernels in chains: the launches, the group of each, and each group's share.

    A group is the launches of a range each time it runs, in one pass; its share is 1 / its length.
    """

    calls: Indices
    group: Indices
    share: Factors


@dataclass(frozen=True)
class Launched:
    """A phase's step as it would be launched.

    work: its rows, as in remedies/work.py; recording: a call and an activity per launch, in order;
    row: the row of work of each; nth: which of its row's launches each is.
    """

    work: pd.DataFrame
    recording: Recording
    row: Indices
    nth: Indices

    def where(self, rows: Mask) -> Indices:
        """The launches of some rows of work."""
        return np.flatnonzero(rows[self.row])

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of the work."""
        return {str(name): self.work[name].to_numpy(dtype=object) for name in TEXTS}

    def of(self, column: str, *values: str) -> Mask:
        """Which rows of work have one of these values in a column of text."""
        given = self.columns[column]
        rows: Mask = np.logical_or.reduce([given == value for value in values])
        return rows

    @cached_property
    def chains(self) -> Chains:
        """All chains of the step."""
        return self._chains(())

    @cached_property
    def chains_outside_core(self) -> Chains:
        """The chains outside of attention's core."""
        return self._chains(CORE)

    def _chains(self, without: tuple[str, ...]) -> Chains:
        rows = self.work[(self.work["kind"] == ELEMENTWISE) & ~self.work["leaf"].isin(without)]
        calls: list[Indices] = []
        groups: list[Indices] = []
        shares: list[Factors] = []
        for _, each in rows.groupby(["pass", "path"]):
            mine = self.where(self.work.index.isin(each.index))
            count = min(int(each["instances"].iloc[0]), len(mine))
            calls.append(mine)
            so_far = sum(len(share) for share in shares)
            groups.append(so_far + np.arange(len(mine)) * count // len(mine))
            shares.append(np.full(count, count / len(mine)))
        empty = np.zeros(0, dtype=np.int64)
        return Chains(
            np.concatenate([empty, *calls]),
            np.concatenate([empty, *groups]),
            np.concatenate([np.zeros(0), *shares]),
        )


def launched(work: pd.DataFrame) -> Launched:
    """The step of a phase with so much work.

    Passes follow each other. Within one, the launches of each row are spread evenly, as those of a
    model's layers are; backward's rows are in reverse.
    """
    count = work["launches"].to_numpy()
    row = np.repeat(np.arange(len(work)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    part = work["pass"].map({name: place for place, name in enumerate(PASSES)}).to_numpy()[row]
    turned = np.where((work["pass"] == BACKWARD).to_numpy()[row], -row, row)
    order = np.lexsort((turned, (nth + 0.5) / count[row], part))
    row, nth = row[order], nth[order]
    each_ns = np.rint(work["device_ms"].to_numpy() * NS_PER_MS / count).astype(np.int64)
    return Launched(work, _recording(each_ns[row]), row, nth)


def _recording(duration_ns: Indices) -> Recording:
    places = np.arange(len(duration_ns))
    calls = {
        "kind": LAUNCH, "name": "", "path": 0, "step": 0, "thread": 0,
        "start_ns": UNIT_NS, "end_ns": UNIT_NS, "gap_ns": UNIT_NS, "cost_ns": 0, "beside": False,
    }  # fmt: skip
    work = {
        "activity": places, "kind": "kernel", "name": "", "family": "", "path": 0, "step": 0,
        "call": places, "lane": 0, "start_ns": 0, "end_ns": duration_ns, "latency_ns": 0,
        "gap_ns": 0,
    }  # fmt: skip
    last = len(places) - 1
    step = {"start_ns": 0, "end_ns": UNIT_NS, "call": 0, "last_call": last, "time_ns": 0}
    return Recording(
        0,
        pd.DataFrame(calls, index=places)[list(CALLS)],
        pd.DataFrame(work, index=places)[list(WORK)],
        pd.DataFrame(columns=list(WAITS), dtype="int64"),
        pd.DataFrame(columns=list(TIES), dtype="int64"),
        pd.DataFrame(step, index=[0])[list(STEPS)],
        QUEUE,
    )
