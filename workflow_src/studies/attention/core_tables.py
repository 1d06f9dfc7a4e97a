"""The long tables of attention alone: times, memory and kernels of both passes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.paper.value import Cell, Joined, Value, computed, ratio
from workflow_src.studies.attention.passes import Both, name
from workflow_src.studies.lines import Line, grouped, shown

PHASES = ("forward", "backward")


@dataclass(frozen=True)
class Cores:
    """Forward + backward by shape: times, memory, and kernels launched."""

    times: pd.DataFrame
    memory: pd.DataFrame
    launches: pd.DataFrame


def core_tables(cores: Sequence[Line], here: Sequence[Line], measured: Sequence[Both]) -> Cores:
    """The tables of all shapes, and of `here` at one head size, of which `measured` has a time."""
    return Cores(
        times=_pivot(cores, ("head_size", "context"), "median_ms", "ms"),
        memory=memory(here, measured),
        launches=_pivot(here, ("context",), "kernels", "count"),
    )


def memory(here: Sequence[Line], measured: Sequence[Both]) -> pd.DataFrame:
    """Peak MiB, before backward + over both passes, by context, and how it grows with that.

    Without any peak: what is kept for the backward pass.
    """
    peaks = any(line.has("peak_mib") for line in here)
    kept = _pivot([line for line in here if line.has("kept_mib")], ("context",), "kept_mib", "MiB")
    found = _pivot(here, ("context",), "peak_mib", "MiB") if peaks else kept
    grown: dict[str, Cell] = {"context": "grows by the power of"}
    for each in dict.fromkeys(each.name for each in measured):
        grown[each] = exponent([mine for mine in measured if mine.name == each])
    if found.empty or len(grown) < 2:
        return found
    row = [grown.get(str(column)) for column in found.columns]
    return pd.DataFrame([*found.values.tolist(), row], columns=found.columns, dtype="object")


def exponent(mine: Sequence[Both]) -> Value | None:
    """The growth of memory between the two longest contexts: 1 is linear, 2 quadratic."""
    known = sorted((each for each in mine if each.memory), key=lambda each: each.context)[-2:]
    if len(known) < 2:
        return None
    low, high = known
    grown = ratio(high.memory, low.memory, "")
    power = math.log(grown.number) / math.log(high.context / low.context) if grown else None
    return computed(power, "", "log of memory's growth / log of the context's", grown)


def _pivot(every: Sequence[Line], keys: Sequence[str], column: str, unit: str) -> pd.DataFrame:
    """A row per shape, a column per implementation; cells: forward + backward."""
    rows = []
    groups = grouped(every, *keys)
    for group in sorted(groups, key=lambda mine: [mine[0].amount(key) for key in keys]):
        row: dict[str, Cell] = {key.replace("_", " "): group[0].whole(key) for key in keys}
        by_name = grouped(group, "implementation")
        cells = {name(mine[0]): _phases(mine, column, unit) for mine in by_name}
        rows += [row | cells] if any(cells.values()) else []
    return shown(rows)


def _phases(mine: Sequence[Line], column: str, unit: str) -> Cell:
    phases = {line.text("phase"): line for line in mine}
    both = [phases.get(phase) for phase in PHASES]
    cells = [line and (_printed(line, column, unit) if line.ok else line.state) for line in both]
    if cells[0] == cells[1] and isinstance(cells[0], str | None):
        return cells[0]
    return cells[0] if "backward" not in phases else Joined(tuple(cells), by=" + ")


def _printed(line: Line, column: str, unit: str) -> Cell:
    return line.time if column == "median_ms" else line.value(column, unit)
