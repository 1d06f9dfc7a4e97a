"""The family of an activity: of a GPU kernel, a memory operation or a CPU operator.

The ordered rules of `families.csv` (see kernel_names.py) decide by the full name, whoever wrote it:
nsys (`void <unnamed>::softmax_warp_forward<...>`), Kineto (`void (anonymous namespace)::...`) or an
operator (`aten::_softmax`). A gradient (`aten::max_pool2d_with_indices_backward`) that no rule
matches has that of its forward operator.
"""

import re
from functools import cache
from pathlib import Path

import pandas as pd

from workflow_src.placing.kernel_names import (
    by_name,
    first_match,
    read_rules,
)

UNKNOWN = "unknown"

_GRADIENT = re.compile(r"(aten::\w+?)_(?:double_)?backward(?:_\w+)?$")

RULES = Path(__file__).with_name("families.csv")


def families(names: pd.Series) -> pd.Series:
    """The family of each name; same index."""
    return by_name(names, family_of)


@cache
def family_of(name: str) -> str:
    """The family of one name, or UNKNOWN. Raises StageError without rules."""
    rules, gradient = read_rules(RULES, "family"), _GRADIENT.match(name)
    forward = gradient and first_match(gradient[1], rules)
    return first_match(name, rules) or forward or UNKNOWN


def coverage(table: pd.DataFrame) -> float:
    """Share (0 to 1) of `busy_ns` whose `family` is known; 1.0 without any time."""
    total = int(table["busy_ns"].sum())
    unknown = int(table.loc[table["family"] == UNKNOWN, "busy_ns"].sum())
    return 1.0 - unknown / total if total else 1.0
