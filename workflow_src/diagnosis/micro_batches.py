"""Which of a step's several passes through one range some work belongs to."""

import pandas as pd

from workflow_src.diagnosis.finding import Subject


def passes(subject: Subject, work: pd.DataFrame) -> pd.DataFrame:
    """Some work with `nth`, the pass through its range (from 0) in its step, and `passes`, all.

    Those that some of this work was launched in count. Work in no range has one pass.
    """
    instance = subject.attributed.work["range"].reindex(work["activity"]).to_numpy()
    work = work.assign(instance=instance)
    number = work.groupby(["step", "path"])["instance"].rank("dense").astype(int) - 1
    places = [work["step"], work["path"]]
    return work.assign(nth=number, passes=number.groupby(places).transform("max") + 1)
