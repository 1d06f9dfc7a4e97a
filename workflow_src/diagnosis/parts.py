"""The parts of a step, the ranges directly in it, and which of its micro batches work is of."""

import re

import numpy as np
import pandas as pd

from workflow_src.diagnosis.finding import Subject, common_path

BETWEEN_NAMES = re.compile(r"(?<!\\)/")
"""What separates the names in a path; a slash in a name is escaped."""


def parts(subject: Subject, paths: pd.Series) -> "np.typing.NDArray[np.object_]":
    """The part of a step that each path lies in: of a step's range, at most one name more."""
    paths_of = subject.attributed.paths
    of_steps = paths_of.of_range[subject.attributed.steps.is_step]
    named = np.unique(paths_of.text[of_steps].astype(str)).tolist()
    most = 1 + max((len(BETWEEN_NAMES.split(text)) for text in named), default=1)
    known = {path: BETWEEN_NAMES.split(path, most) for path in paths.unique()}
    of_path = {path: "/".join(names[:most]) for path, names in known.items()}
    return paths.map(of_path).to_numpy(dtype=object)


def passes(subject: Subject, work: pd.DataFrame) -> pd.DataFrame:
    """Some of Subject.work with `nth`, its pass through its part of a step, and `passes`, of all.

    A part is a range directly inside of what all ranges with work share, such as forward; a pass
    ends where another part launches work. Ranges inside of parts, such as those of buckets, don't
    count, nor does work that is in no part. Only passes that hold some of this work are counted.
    """
    paths = subject.work["path_text"]
    shared = common_path(paths[paths != ""])
    inside = shared.count("/") + 2 if shared else 1
    part = paths.str.split("/").str[:inside].str.join("/")
    in_part = part[(paths != "") & (paths.str.count("/") >= inside - 1)]
    step = subject.work.loc[in_part.index, "step"]
    entered = (in_part != in_part.shift()) | (step != step.shift())
    number = entered.cumsum().reindex(work.index)
    work = work.assign(part=part[work.index], number=number).dropna(subset="number")
    of_part = work.groupby(["step", "part"])["number"]
    nth = of_part.rank("dense").astype(int) - 1
    return work.assign(nth=nth, passes=of_part.transform("nunique"))
