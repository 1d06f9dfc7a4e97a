"""What belongs to whole steps, for values per step: the sum over all steps by their number.

Work belongs to a step of its process that was open at its launch or, where its launch isn't known,
at its start; a range to one that was open when it began.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import UNKNOWN
from workflow_src.common.intervals import Union

PER_STEP = "_per_step"
"""The end of the name of a column of such values."""

DECIMALS = 9
"""Of values per step, so that a third of 0.3 is 0.1."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class InSteps:
    """Which work and which ranges belong to steps; steps: how many each process has, if any."""

    work: Flags
    ranges: Flags
    steps: "pd.Series[int]"

    @classmethod
    def of(cls, work: pd.DataFrame, ranges: pd.DataFrame, is_step: Flags) -> "InSteps":
        """The same from the ranges that are steps."""
        begun = work["launch_ns"].where(work["launch_ns"] != UNKNOWN, work["start_ns"])
        moments = (work["process"], begun), (ranges["process"], ranges["start_ns"])
        inside = [np.zeros(len(process), dtype=bool) for process, _ in moments]
        for number, steps in ranges[is_step].groupby("process"):
            union = Union.of(steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy())
            for found, (process, at) in zip(inside, moments, strict=True):
                found |= (process == number).to_numpy() & union.holds(at.to_numpy())
        return cls(inside[0], inside[1], ranges.loc[is_step, "process"].value_counts())

    def added(self, table: pd.DataFrame, sums: pd.DataFrame) -> pd.DataFrame:
        """A table of processes with `steps` and, per step, the sums over all steps of each row.

        Of a process without steps, they are missing.
        """
        steps = table["process"].map(self.steps).fillna(0).astype("int64")
        per_step = sums.div(steps.where(steps > 0), axis=0).round(DECIMALS).add_suffix(PER_STEP)
        return pd.concat([table.assign(steps=steps), per_step], axis=1)
