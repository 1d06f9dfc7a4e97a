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
from workflow_src.diagnosis.recording import CALLS, QUEUE, TIES, WAITS, WORK, Recording
from workflow_src.diagnosis.remedies.work import BACKWARD, CORE, ELEMENTWISE, PASSES

UNIT_NS = 1_000_000
"""The host's time before each launch of a recording: replays scale it to what it is."""

TEXTS = ("pass", "leaf", "kind")


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
    row: the row of work of each.
    """

    work: pd.DataFrame
    recording: Recording
    row: Indices

    def where(self, rows: Mask) -> Indices:
        """The launches of some rows of work."""
        return np.flatnonzero(rows[self.row])

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of text of the work."""
        return {name: self.work[name].to_numpy(dtype=object) for name in TEXTS}

    def of(self, column: str, *values: str) -> Mask:
        """Which rows of work have one of these values in a column of text."""
        given = self.columns[column]
        return np.asarray(np.logical_or.reduce([given == value for value in values]), dtype=bool)

    @cached_property
    def chains(self) -> Chains:
        """All chains of the step."""
        return self._chains(self.of("kind", ELEMENTWISE))

    @cached_property
    def chains_outside_core(self) -> Chains:
        """The chains outside of attention's core."""
        return self._chains(self.of("kind", ELEMENTWISE) & ~self.of("leaf", *CORE))

    def _chains(self, rows: Mask) -> Chains:
        work = self.work[rows]
        place = np.full(len(rows), -1)
        groups = work.groupby(["pass", "path"])
        place[rows] = groups.ngroup()
        calls = self.where(place >= 0)
        calls = calls[np.argsort(place[self.row[calls]], kind="stable")]
        number = place[self.row[calls]]
        size = np.bincount(number, minlength=groups.ngroups)
        times = np.minimum(groups["instances"].first().to_numpy(dtype=np.int64), size)
        nth = np.arange(len(calls)) - np.repeat(np.cumsum(size) - size, size)
        group = (np.cumsum(times) - times)[number] + nth * times[number] // size[number]
        return Chains(calls, group, np.repeat(times / size, times))


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
    row = row[np.lexsort((turned, (nth + 0.5) / count[row], part))]
    each_ns = np.rint(work["device_ms"].to_numpy() * NS_PER_MS / count).astype(np.int64)
    return Launched(work, _recording(each_ns[row]), row)


def _recording(duration_ns: Indices) -> Recording:
    """A call for each activity; what no replay reads is 0."""
    rows = np.arange(len(duration_ns))
    calls = pd.DataFrame(0, rows, list(CALLS))
    calls = calls.assign(start_ns=UNIT_NS, end_ns=UNIT_NS, gap_ns=UNIT_NS, beside=False)
    work = pd.DataFrame(0, rows, list(WORK)).assign(call=rows, end_ns=duration_ns)
    waits, ties = (pd.DataFrame(columns=list(names), dtype="int64") for names in (WAITS, TIES))
    step = {"start_ns": 0, "end_ns": UNIT_NS, "call": 0, "last_call": len(rows) - 1, "time_ns": 0}
    return Recording(0, calls, work, waits, ties, pd.DataFrame(step, index=[0]), QUEUE)
