"""The parts of a step: the ranges directly in it."""

import re

import numpy as np
import pandas as pd

from workflow_src.diagnosis.finding import Subject

BETWEEN_NAMES = re.compile(r"(?<!\\)/")
"""What separates the names in a path; a slash in a name is escaped."""


def parts(subject: Subject, paths: pd.Series) -> "np.typing.NDArray[np.object_]":
    """The part of a step that each path lies in: of a step's range, at most one name more."""
    placed = subject.attributed
    of_steps = placed.paths.of_range[placed.ranged.steps.is_step]
    named = (str(text) for text in np.unique(placed.paths.text[of_steps].astype(str)))
    most = 1 + max((len(BETWEEN_NAMES.split(text)) for text in named), default=1)
    known = {path: _beginning(str(path), most) for path in paths.unique()}
    return paths.map(known).to_numpy(dtype=object)


def _beginning(path: str, names: int) -> str:
    ends = [match.start() for match in BETWEEN_NAMES.finditer(path)]
    return path[: ends[names - 1]] if len(ends) >= names else path
