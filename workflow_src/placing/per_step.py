"""What belongs to whole steps, for values per step: the sum over all steps by their number.

Work belongs to a step of its process that was open at its launch or, where its launch isn't known,
at its start; a range to one that was open when it began.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import UNKNOWN
from workflow_src.common.intervals import Indices, Union

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
        launch = work["launch_ns"].to_numpy()
        begun = np.where(launch == UNKNOWN, work["start_ns"].to_numpy(), launch)
        spans = {
            int(str(process)): Union.of(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
            for process, rows in ranges[is_step].groupby("process")
        }
        return cls(
            _held(work["process"].to_numpy(), begun, spans),
            _held(ranges["process"].to_numpy(), ranges["start_ns"].to_numpy(), spans),
            ranges.loc[is_step, "process"].value_counts(),
        )

    def added(self, table: pd.DataFrame, sums: pd.DataFrame) -> pd.DataFrame:
        """A table of processes with `steps` and, per step, the sums over all steps of each row.

        Of a process without steps, they are missing.
        """
        steps = table["process"].map(self.steps).fillna(0).astype("int64")
        per_step = sums.div(steps.where(steps > 0), axis=0).round(DECIMALS).add_suffix(PER_STEP)
        return pd.concat([table.assign(steps=steps), per_step], axis=1)


def _held(process: Indices, moments: Indices, spans: dict[int, Union]) -> Flags:
    """Which moments of a process lie in its spans."""
    found = np.zeros(len(moments), dtype=bool)
    for number, union in spans.items():
        found |= (process == number) & union.holds(moments)
    return found
