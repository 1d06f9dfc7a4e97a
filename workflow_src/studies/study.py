"""Which studies exist, and what each consists of.

A study is a folder of this package with these modules:

- points: `points(device, scale, settings)`, what to measure; imports neither torch nor pandas.
  `scale` is "small" (minutes on two CPU cores) or "full" (for a GPU). `POINT` is the schema of a
  point, by which `measure` refuses what was written by hand and is wrong.
- measure: `measure(point)`, the raw rows of one point; a command (see run_point.py).
- analyze: `derive(point, rows)`, a point's rows of the table; a command (see join_points.py).
- section: what the table says, as text, tables and a figure; a command (see section.py).
"""

from collections.abc import Mapping
from typing import Any

STUDIES = ("warmup", "precision", "attention", "fusion", "matmul", "mlp", "accounting")
"""The studies, in the order of the report."""

Settings = Mapping[str, Any]
"""The validated configuration, with `device` and `profiler` resolved."""

Point = Mapping[str, Any]
"""The parameters of one measurement; `point` is its short id, unique in the study."""

Row = dict[str, Any]
