"""The studies' words and pictures: for each, its chapter and its figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.studies.study_chapter import StudyChapter


@dataclass(frozen=True)
class Study:
    """A study's chapter, and the function that draws the figure of its table."""

    chapter: StudyChapter
    draw: Callable[[pd.DataFrame], Figure]


REGISTRY: Mapping[str, Study] = {}
"""The studies by name whose chapters aren't yet one function and one template."""
