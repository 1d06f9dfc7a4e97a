"""The steps of a capture: the ledger of each, and what belongs to them, for values per step.

Work belongs to a step of its process that was open at its launch or, where that isn't known, at its
start; a range to one that was open when it began.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.capture import OPERATOR, OVERHEAD, UNKNOWN
from workflow_src.captures.rows import Mask, rows_where, spans
from workflow_src.common.intervals import Union
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.ledger import STEP_COLUMNS, Device, step_ledger

TIMES = ["start_ns", "end_ns", "launch_ns", "launch_end_ns"]

DECIMALS = 9
"""Of values per step, so that a third of 0.3 is 0.1."""


def steps(found: Attributed) -> pd.DataFrame:
    """A row per step, with STEP_COLUMNS.

    A device is active while any activity of the process runs, whenever it was launched. Causes are
    missing where no call is known that launched something; steps, where kernels were lost.
    """
    parts = [pd.DataFrame(columns=list(STEP_COLUMNS), dtype="Int64")]
    ranges = step_ranges(found)[: 0 if found.capture.kernels_lost else None]
    for _, chosen in ranges.groupby(["process", "thread"]):
        parts.append(step_ledger(chosen, *of_thread(found, chosen)))
    return pd.concat(parts).sort_values(["process", "path", "step"], ignore_index=True)


def step_ranges(found: Attributed) -> pd.DataFrame:
    """The ranges that are steps, in order of start, with `path` and `step`, which counts from 0."""
    is_step = found.steps.is_step
    path = found.paths.text[found.paths.of_range[is_step]]
    chosen = found.placed.ranges[is_step].assign(path=path).sort_values("start_ns")
    return chosen.assign(step=chosen.groupby(["process", "path"]).cumcount())


def of_thread(found: Attributed, chosen: pd.DataFrame) -> tuple[Device, bool]:
    """What the devices and the host of the process of a thread's steps did, and whether calls that
    launched some of its work are known.

    Held up it was by its own calls, and by those of threads that launch what lies in its tree.
    """
    process, thread = (int(chosen[name].iloc[0]) for name in ("process", "thread"))
    work, mine = found.work, (found.work["process"] == process).to_numpy()
    known = mine & (work["launch_ns"] != UNKNOWN) & (work["kind"] != OPERATOR)
    launching = mine & (work["tree"] == thread).to_numpy()
    held, threads = found.held, [thread, *work.loc[launching, "thread"].unique()]
    waits = held["thread"].isin(threads) & (held["process"] == process)
    overheads = (held["kind"] == OVERHEAD) & held["process"].isin([process, UNKNOWN])
    device = Device.of(rows_where(work[TIMES], mine), held[waits | overheads])
    return device, bool(known.any())


@dataclass(frozen=True)
class InSteps:
    """Which work and which ranges belong to steps; steps: how many each process has, if any."""

    work: Mask
    ranges: Mask
    steps: "pd.Series[int]"

    @classmethod
    def of(cls, work: pd.DataFrame, ranges: pd.DataFrame, is_step: Mask) -> "InSteps":
        """From the ranges that are steps."""
        begun = work["launch_ns"].where(work["launch_ns"] != UNKNOWN, work["start_ns"])
        moments = (work["process"], begun), (ranges["process"], ranges["start_ns"])
        inside = [np.zeros(len(process), dtype=bool) for process, _ in moments]
        for number, steps in ranges[is_step].groupby("process"):
            union = Union.of(*spans(steps))
            for found, (process, at) in zip(inside, moments, strict=True):
                found |= (process == number).to_numpy() & union.holds(at.to_numpy())
        return cls(inside[0], inside[1], ranges.loc[is_step, "process"].value_counts())

    def added(self, table: pd.DataFrame, sums: pd.DataFrame) -> pd.DataFrame:
        """A table of processes with `steps` and, where there are any, the sums over all steps of
        each row per step."""
        steps = table["process"].map(self.steps).fillna(0).astype("int64")
        per_step = sums.div(steps.where(steps > 0), axis=0).round(DECIMALS).add_suffix("_per_step")
        return pd.concat([table.assign(steps=steps), per_step], axis=1)
