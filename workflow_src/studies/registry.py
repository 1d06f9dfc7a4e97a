"""The studies' words and pictures: for each, its chapter and its figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.studies.attention.chapter import CHAPTER as attention
from workflow_src.studies.attention.figure import draw as draw_attention
from workflow_src.studies.checkpointing.chapter import CHAPTER as checkpointing
from workflow_src.studies.checkpointing.figure import draw as draw_checkpointing
from workflow_src.studies.flash.chapter import CHAPTER as flash
from workflow_src.studies.flash.figure import draw as draw_flash
from workflow_src.studies.fusion.chapter import CHAPTER as fusion
from workflow_src.studies.fusion.figure import draw as draw_fusion
from workflow_src.studies.levers.chapter import CHAPTER as levers
from workflow_src.studies.levers.figure import draw as draw_levers
from workflow_src.studies.memory.chapter import CHAPTER as memory
from workflow_src.studies.memory.figure import draw as draw_memory
from workflow_src.studies.precision.chapter import CHAPTER as precision
from workflow_src.studies.precision.figure import draw as draw_precision
from workflow_src.studies.study_chapter import StudyChapter
from workflow_src.studies.warmup.chapter import CHAPTER as warmup
from workflow_src.studies.warmup.figure import draw as draw_warmup


@dataclass(frozen=True)
class Study:
    """A study's chapter, and the function that draws the figure of its table."""

    chapter: StudyChapter
    draw: Callable[[pd.DataFrame], Figure]


REGISTRY: Mapping[str, Study] = {
    "warmup": Study(warmup, draw_warmup),
    "precision": Study(precision, draw_precision),
    "attention": Study(attention, draw_attention),
    "fusion": Study(fusion, draw_fusion),
    "flash": Study(flash, draw_flash),
    "memory": Study(memory, draw_memory),
    "checkpointing": Study(checkpointing, draw_checkpointing),
    "levers": Study(levers, draw_levers),
}
"""The studies by name whose chapters aren't yet one function and one template."""
