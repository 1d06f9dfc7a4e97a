"""Which studies exist, and what each consists of.

A study is a folder of this package with these modules:

- points: `points(device, scale, settings)`, what to measure; imports neither torch nor pandas.
  `scale` is "small" (minutes on two CPU cores) or "full" (for a GPU). `POINT` is the schema of a
  point, by which `measure` refuses what was written by hand and is wrong. A point with `processes`
  above 1 is timed in that many fresh processes, if the study's `measure` names its own module.
- measure: `measure(point)`, the raw rows of one point; a command (see run_point.py).
- analyze: `derive(point, rows)`, a point's rows of the table; a command (see join_points.py). It
  may complete the table with what takes several points, or predictions.
- chapter: CHAPTER, of a title; the question of a reader who knows nothing of it; `result(table,
  ceilings)`, what the table says: a frozen dataclass of values and tables, every field there, None
  where something is missing (see lines.py for cells as values); `headline(result)`, the verdict on
  it: one of a few sentences.
- figure: `draw(table)`.

The last two are registered in registry.py, and written by section.py with the templates
studies/{name}.md.j2 (one table, one paragraph) and, of long tables, {name}.appendix.md.j2.
"""

from collections.abc import Mapping
from typing import Any

STUDIES = (
    "profiler",
    "warmup",
    "precision",
    "attention",
    "fusion",
    "matmul",
    "mlp",
    "accounting",
    "flash",
    "memory",
    "checkpointing",
    "ranks",
    "levers",
)
"""The studies, in the order of the report."""

JUDGED = frozenset({"attention", "flash"})
"""The studies whose sections hold times against the ceilings of the run's machine."""

Settings = Mapping[str, Any]
"""The validated configuration, with `device` and `profiler` resolved."""

Point = Mapping[str, Any]
"""The parameters of one measurement; `point` is its short id, unique in the study."""

Row = dict[str, Any]
