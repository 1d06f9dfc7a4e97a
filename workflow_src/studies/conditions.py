"""How a study was measured: processes, and what disturbed it, as an uneven host or several."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.common.thresholds import HOST_CHANGED
from workflow_src.paper.value import Cell, Value
from workflow_src.studies.lines import Line, by_host, lines, most, number, shown, spread

TIMES = ("median_ms", "plain_ms")
"""The columns that hold a measured time, of which any study with times has one."""


@dataclass(frozen=True)
class Conditions:
    """`attached`: the points whose process kept torch.profiler attached, as all did once.

    `fastest`, `slowest`: an eager operation (us) around the study's processes on a GPU's host.
    `unsteady`: whether these differ by HOST_CHANGED or more, in a table that has times.
    `processes`: in how many fresh processes times were measured, if any was in several.
    `hosts`: which points are of which host, by the start of its id; empty if all are of one.
    """

    attached: tuple[str, ...]
    fastest: Value | None
    slowest: Value | None
    unsteady: bool
    processes: Cell
    hosts: pd.DataFrame


def conditions(table: pd.DataFrame, study: str) -> Conditions:
    """The conditions under which a study's table was measured."""
    every = lines(table, study)
    attached = dict.fromkeys(line.text("point") for line in every if line.true("profiler_stayed"))
    low, high = operation_us(every)
    timed = any(line.has(column) for line in every for column in TIMES)
    changed = low is not None and high is not None and high.number > HOST_CHANGED * low.number
    unsteady = timed and changed
    return Conditions(tuple(attached), low, high, unsteady, processes(every), hosts(every))


def operation_us(every: Sequence[Line]) -> tuple[Value | None, Value | None]:
    """The shortest and the longest that an eager operation took."""
    fastest, slowest = (
        [value for line in every if (value := line.value(f"host_operation_us_{end}", "us"))]
        for end in ("least", "most")
    )
    return min(fastest, key=number, default=None), most(slowest)


def processes(every: Sequence[Line]) -> Cell:
    """The fewest to the most processes of a time; None if each is of one."""
    told = [value for line in every if (value := line.value("processes", "count"))]
    return spread(told) if number(most(told)) > 1 else None


def hosts(every: Sequence[Line]) -> pd.DataFrame:
    """A row per host with its points, if there are several."""
    found = by_host(every)
    return shown([_host(mine) for mine in found] if len(found) > 1 else [])


def _host(mine: Sequence[Line]) -> dict[str, Cell]:
    points = dict.fromkeys(line.text("point") for line in mine)
    return {
        "host": mine[0].text("host_id") or "not recorded",
        "points": ", ".join(points),
        "eager operation, us": spread(operation_us(mine)),
    }
