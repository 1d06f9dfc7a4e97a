"""Which studies exist, and what each consists of.

A study is a folder of this package with these files (see mlp):

- points.yaml: what to measure, by device and scale (see points.py).
- measure: `tasks(point)`, which yields what a point measures; a command (see tasks.py). It imports
  only what measures, so that nothing else makes its results stale.
- chapter: `derive(point, rows)`, a point's rows of the table, if they aren't those measured (see
  join_points.py); and `facts(run)`, what the table says, and what is `missing` (see facts.py).
"""

from collections.abc import Mapping
from typing import Any

STUDIES = (
    "warmup",
    "precision",
    "attention",
    "mlp",
    "accounting",
    "memory",
    "checkpointing",
    "ranks",
    "levers",
)
"""In the order of the report."""

BESIDE = {"accounting": "ceilings", "attention": "ceilings", "levers": "remedies"}
"""The run's table that a study's section is held against."""

Settings = Mapping[str, Any]
"""The validated configuration, with `device` resolved."""

Point = Mapping[str, Any]
"""The parameters of one measurement; `point` is its short id, unique in the study."""

Row = dict[str, Any]
