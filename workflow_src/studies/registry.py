"""The studies' words and pictures: for each, its chapter and its figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.studies.accounting.chapter import CHAPTER as accounting
from workflow_src.studies.accounting.figure import draw as draw_accounting
from workflow_src.studies.attention.chapter import CHAPTER as attention
from workflow_src.studies.attention.figure import draw as draw_attention
from workflow_src.studies.flash.chapter import CHAPTER as flash
from workflow_src.studies.flash.figure import draw as draw_flash
from workflow_src.studies.matmul.chapter import CHAPTER as matmul
from workflow_src.studies.matmul.figure import draw as draw_matmul
from workflow_src.studies.profiler.chapter import CHAPTER as profiler
from workflow_src.studies.profiler.figure import draw as draw_profiler
from workflow_src.studies.ranks.chapter import CHAPTER as ranks
from workflow_src.studies.ranks.figure import draw as draw_ranks
from workflow_src.studies.study_chapter import StudyChapter


@dataclass(frozen=True)
class Study:
    """A study's chapter, and the function that draws the figure of its table."""

    chapter: StudyChapter
    draw: Callable[[pd.DataFrame], Figure]


REGISTRY: Mapping[str, Study] = {
    "profiler": Study(profiler, draw_profiler),
    "attention": Study(attention, draw_attention),
    "matmul": Study(matmul, draw_matmul),
    "accounting": Study(accounting, draw_accounting),
    "flash": Study(flash, draw_flash),
    "ranks": Study(ranks, draw_ranks),
}
"""The studies by name whose chapters aren't yet one function and one template."""
