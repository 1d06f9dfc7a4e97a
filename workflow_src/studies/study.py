"""Which studies there are, and what each consists of.

A study is a folder of this package with these modules:

- points: `points(device, scale, settings)`, what to measure; imports neither torch nor pandas.
  `scale` is "small" (minutes on two CPU cores) or "full" (for a GPU).
- measure: `measure(point)`, the raw rows of one point; a command (see run_point).
- analyze: `derive(point, rows)`, the rows of its table; a command (see join_points).
- section: what the table says, as text, tables and a figure; a command (see section).
"""

from collections.abc import Mapping
from typing import Any

STUDIES = ("warmup", "precision", "attention", "fusion", "matmul", "mlp", "accounting")
"""The studies, in the order in which the report shows them."""

Settings = Mapping[str, Any]
"""The checked configuration, `device` and `profiler` resolved."""

Point = Mapping[str, Any]
"""What one measurement depends on; `point` is its short id, unique in the study."""

Row = dict[str, Any]
