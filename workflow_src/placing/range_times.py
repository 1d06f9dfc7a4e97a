"""Which ranges come one after another, and are steps."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.nesting import NOWHERE


def one_after_another(ranges: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which ranges can be steps: they last, and on their thread all that began before have ended.

    So of ranges inside of each other the outermost one is left.
    """
    by = ["process", "thread", "start_ns", "end_ns"]
    rows = ranges[by].astype("int64").reset_index(drop=True)
    rows = rows.sort_values(by, ascending=[True, True, True, False])
    threads = [rows["process"], rows["thread"]]
    ended = rows["end_ns"].groupby(threads).cummax()
    before = ended.groupby(threads).shift(fill_value=np.iinfo(np.int64).min)
    found = (rows["end_ns"] > rows["start_ns"]) & (rows["start_ns"] >= before)
    return found.sort_index().to_numpy()


def whole_steps(ranges: pd.DataFrame) -> pd.DataFrame:
    """The ranges with `phase` that are whole steps, in the order in which they began."""
    return ranges[(ranges["phase"] != "") & (ranges["parent"] == NOWHERE)].sort_values("start_ns")
