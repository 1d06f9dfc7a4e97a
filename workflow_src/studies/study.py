"""What a study is, which there are, and how its points become rows and a table."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast

import pandas as pd
from markupsafe import Markup

STUDIES = ("warmup", "precision", "attention", "fusion", "matmul", "mlp", "accounting")
"""The studies, in the order in which the report shows them."""

SCALES = ("small", "full")
"""small ends within a minute on two CPU cores; full is for a GPU."""

Point = Mapping[str, Any]
Row = dict[str, Any]


class Study(Protocol):
    """What each module of this package that is named in STUDIES has."""

    TITLE: str

    def points(self, device: str, scale: str) -> list[dict[str, Any]]:
        """The points to measure, each with a unique short `point` id; imports no torch."""

    def measure(self, point: Point) -> list[Row]:
        """Measure one point: a row per measurement, out-of-memory ones too (status oom)."""

    def summarize(self, table: pd.DataFrame) -> dict[str, Any]:
        """The numbers and verdicts that choose the section's sentences."""

    def tables(self, table: pd.DataFrame) -> dict[str, Markup]:
        """The section's tables as Markdown, by name."""

    def draw(self, table: pd.DataFrame, path: Path) -> None:
        """Draw the study's figure as SVG."""


def load_study(name: str) -> Study:
    """The study called `name`. Raises ValueError for an unknown one."""
    if name not in STUDIES:
        raise ValueError(f"studies: {name!r} is not one of {', '.join(STUDIES)}")
    return cast(Study, importlib.import_module(f"workflow_src.studies.{name}.analyze"))


def measuring_modules(name: str) -> list[str]:
    """The modules of a study that measure; they don't import those that tell of it."""
    telling = ("__init__", "analyze", "figure", "tables")
    found = sorted(path.stem for path in Path(__file__).parent.joinpath(name).glob("*.py"))
    return [f"{__package__}.{name}.{stem}" for stem in found if stem not in telling]


def point_row(name: str, point_id: str, device: str, scale: str) -> dict[str, Any]:
    """The point of a study with this id, with its device: what its measurement depends on.

    Raises ValueError where the study has no such point.
    """
    points = {point["point"]: point for point in load_study(name).points(device, scale)}
    if point_id not in points:
        raise ValueError(f"point of {name}: {point_id!r} is not one of {', '.join(points)}")
    return points[point_id] | {"device": device}
