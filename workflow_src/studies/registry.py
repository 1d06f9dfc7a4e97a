"""The studies' words and pictures: for each, what it asks, and the functions that answer it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.render.show import Headline
from workflow_src.studies.matmul import figure as matmul_figure
from workflow_src.studies.matmul import headline as matmul_headline
from workflow_src.studies.matmul import result as matmul_result
from workflow_src.studies.mlp import figure as mlp_figure
from workflow_src.studies.mlp import headline as mlp_headline
from workflow_src.studies.mlp import result as mlp_result

R = TypeVar("R")


@dataclass(frozen=True)
class Study(Generic[R]):
    """A study's title, the question of a reader who knows nothing of it, and its functions.

    result: from the study's table and the run's ceilings (empty unless JUDGED has the study) to a
    frozen dataclass; headline: the verdict on that; draw: the figure of the table.
    """

    title: str
    question: str
    result: Callable[[pd.DataFrame, pd.DataFrame], R]
    headline: Callable[[R], Headline]
    draw: Callable[[pd.DataFrame], Figure]


REGISTRY: Mapping[str, Study[Any]] = {
    "matmul": Study(
        title="Matrix multiplication: rate over size, and the cost of awkward sizes",
        question="How fast are square matrix products at each size and precision, and what does an "
        "awkward size cost?",
        result=matmul_result.result,
        headline=matmul_headline.headline,
        draw=matmul_figure.draw,
    ),
    "mlp": Study(
        title="MLP scaling: a step's time against its FLOPs",
        question="Does a training step take longer as its FLOPs grow, and by as much?",
        result=mlp_result.result,
        headline=mlp_headline.headline,
        draw=mlp_figure.draw,
    ),
}
"""The studies by name; the report's order is that of STUDIES in study.py."""
