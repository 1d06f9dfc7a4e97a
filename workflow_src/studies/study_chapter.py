"""What the chapter of a study is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workflow_src.paper.show import Headline


@dataclass(frozen=True)
class StudyChapter:
    """A study's title, and the question of a reader who knows nothing of it.

    result: from the study's table and the run's ceilings (empty unless BESIDE has the study) to a
    frozen dataclass; headline: the verdict on that.
    """

    title: str
    question: str
    result: Callable[[pd.DataFrame, pd.DataFrame], Any]
    headline: Callable[[Any], Headline]
