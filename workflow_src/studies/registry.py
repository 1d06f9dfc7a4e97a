"""The studies' words and pictures: for each, its chapter and its figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.paper.show import Headline
from workflow_src.studies.accounting import chapter as accounting
from workflow_src.studies.accounting.figure import draw as draw_accounting
from workflow_src.studies.attention import chapter as attention
from workflow_src.studies.attention.figure import draw as draw_attention
from workflow_src.studies.checkpointing import chapter as checkpointing
from workflow_src.studies.checkpointing.figure import draw as draw_checkpointing
from workflow_src.studies.flash import chapter as flash
from workflow_src.studies.flash.figure import draw as draw_flash
from workflow_src.studies.fusion import chapter as fusion
from workflow_src.studies.fusion.figure import draw as draw_fusion
from workflow_src.studies.levers import chapter as levers
from workflow_src.studies.levers.figure import draw as draw_levers
from workflow_src.studies.matmul import chapter as matmul
from workflow_src.studies.matmul.figure import draw as draw_matmul
from workflow_src.studies.memory import chapter as memory
from workflow_src.studies.memory.figure import draw as draw_memory
from workflow_src.studies.mlp import chapter as mlp
from workflow_src.studies.mlp.figure import draw as draw_mlp
from workflow_src.studies.precision import chapter as precision
from workflow_src.studies.precision.figure import draw as draw_precision
from workflow_src.studies.profiler import chapter as profiler
from workflow_src.studies.profiler.figure import draw as draw_profiler
from workflow_src.studies.ranks import chapter as ranks
from workflow_src.studies.ranks.figure import draw as draw_ranks
from workflow_src.studies.warmup import chapter as warmup
from workflow_src.studies.warmup.figure import draw as draw_warmup


class StudyChapter(Protocol):
    """The module of a study's chapter: its title, the question of a reader who knows nothing of it.

    result: from the study's table and the run's ceilings (empty unless JUDGED has the study) to a
    frozen dataclass; headline: the verdict on that.
    """

    TITLE: str
    QUESTION: str

    def result(self, table: pd.DataFrame, ceilings: pd.DataFrame, /) -> Any:
        """What the table says."""

    def headline(self, result: Any, /) -> Headline:
        """The verdict on a result."""


@dataclass(frozen=True)
class Study:
    """A study's chapter, and the function that draws the figure of its table."""

    chapter: StudyChapter
    draw: Callable[[pd.DataFrame], Figure]


REGISTRY: Mapping[str, Study] = {
    "profiler": Study(profiler, draw_profiler),
    "warmup": Study(warmup, draw_warmup),
    "precision": Study(precision, draw_precision),
    "attention": Study(attention, draw_attention),
    "fusion": Study(fusion, draw_fusion),
    "matmul": Study(matmul, draw_matmul),
    "mlp": Study(mlp, draw_mlp),
    "accounting": Study(accounting, draw_accounting),
    "flash": Study(flash, draw_flash),
    "memory": Study(memory, draw_memory),
    "checkpointing": Study(checkpointing, draw_checkpointing),
    "ranks": Study(ranks, draw_ranks),
    "levers": Study(levers, draw_levers),
}
"""The studies by name; the report's order is that of STUDIES in study.py."""
