"""The studies' words and pictures: for each, its chapter and its figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.studies.accounting.chapter import CHAPTER as accounting
from workflow_src.studies.accounting.figure import draw as draw_accounting
from workflow_src.studies.checkpointing.chapter import CHAPTER as checkpointing
from workflow_src.studies.checkpointing.figure import draw as draw_checkpointing
from workflow_src.studies.fusion.chapter import CHAPTER as fusion
from workflow_src.studies.fusion.figure import draw as draw_fusion
from workflow_src.studies.levers.chapter import CHAPTER as levers
from workflow_src.studies.levers.figure import draw as draw_levers
from workflow_src.studies.matmul.chapter import CHAPTER as matmul
from workflow_src.studies.matmul.figure import draw as draw_matmul
from workflow_src.studies.memory.chapter import CHAPTER as memory
from workflow_src.studies.memory.figure import draw as draw_memory
from workflow_src.studies.precision.chapter import CHAPTER as precision
from workflow_src.studies.precision.figure import draw as draw_precision
from workflow_src.studies.profiler.chapter import CHAPTER as profiler
from workflow_src.studies.profiler.figure import draw as draw_profiler
from workflow_src.studies.ranks.chapter import CHAPTER as ranks
from workflow_src.studies.ranks.figure import draw as draw_ranks
from workflow_src.studies.study_chapter import StudyChapter
from workflow_src.studies.warmup.chapter import CHAPTER as warmup
from workflow_src.studies.warmup.figure import draw as draw_warmup


@dataclass(frozen=True)
class Study:
    """A study's chapter, and the function that draws the figure of its table."""

    chapter: StudyChapter
    draw: Callable[[pd.DataFrame], Figure]


REGISTRY: Mapping[str, Study] = {
    "profiler": Study(profiler, draw_profiler),
    "warmup": Study(warmup, draw_warmup),
    "precision": Study(precision, draw_precision),
    "fusion": Study(fusion, draw_fusion),
    "matmul": Study(matmul, draw_matmul),
    "accounting": Study(accounting, draw_accounting),
    "memory": Study(memory, draw_memory),
    "checkpointing": Study(checkpointing, draw_checkpointing),
    "ranks": Study(ranks, draw_ranks),
    "levers": Study(levers, draw_levers),
}
"""The studies by name whose chapters aren't yet one function and one template."""
