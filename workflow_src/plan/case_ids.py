"""The ids of cases: how one is put together, and the pattern that all match."""

import re
from collections.abc import Mapping
from typing import Any

from workflow_src.common.case import AXES

WORD = re.compile(r"[A-Za-z0-9_.]+")
"""What the name of a file in an id may be."""

VALUE = re.compile(r"[A-Za-z0-9_.+-]+")
"""What the value of a brought function's axis may be as text: 1e-05, -0.5 and gpt2-medium, too."""


def case_id(size: str, values: Mapping[str, Any]) -> str:
    """A short readable id; but for the main axes, those at their usual value are left out."""
    marks = (axis.marked(values[axis.name]) for axis in AXES)
    return "-".join([size, *filter(None, marks)])


CASE_PATTERN = r"(?!studies/)[A-Za-z0-9_.=+-]+"
"""What all ids match: the workflow's global wildcard constraint. tables/studies/ is of no case."""
