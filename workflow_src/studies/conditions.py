"""What disturbed a study: a profiler that stayed attached, a host of uneven speed."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.common.thresholds import HOST_CHANGED
from workflow_src.paper.value import Value
from workflow_src.studies.lines import lines, most, number

TIMES = ("median_ms", "plain_ms")
"""The columns that hold a measured time, of which any study with times has one."""


@dataclass(frozen=True)
class Conditions:
    """`attached`: the points whose process kept torch.profiler attached, as all did once.

    `fastest`, `slowest`: an eager operation (us) around the study's processes on a GPU's host.
    `unsteady`: whether these differ by HOST_CHANGED or more, in a table that has times.
    """

    attached: tuple[str, ...]
    fastest: Value | None
    slowest: Value | None
    unsteady: bool


def conditions(table: pd.DataFrame, study: str) -> Conditions:
    """The conditions under which a study's table was measured."""
    every = lines(table, study)
    attached = dict.fromkeys(line.text("point") for line in every if line.true("profiler_stayed"))
    fastest, slowest = (
        [value for line in every if (value := line.value(f"host_operation_us_{end}", "us"))]
        for end in ("least", "most")
    )
    low, high = min(fastest, key=number, default=None), most(slowest)
    timed = any(line.has(column) for line in every for column in TIMES)
    changed = low is not None and high is not None and high.number > HOST_CHANGED * low.number
    return Conditions(tuple(attached), low, high, timed and changed)
