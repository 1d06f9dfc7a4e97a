"""What the report says of a capture's steps: how long they take, and where and why devices idle."""

from collections.abc import Iterator

import pandas as pd

from workflow_src.capture_report.shown import by_process, most
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.markdown import records
from workflow_src.paper.value import Cell, Rows, Value, ratio, rows_of, value
from workflow_src.placing.ledger import ALL_CAUSES
from workflow_src.placing.per_step import PER_STEP

PARTS = {
    "wall_ns": "whole step",
    "device_active_ns": "a device works",
    **{f"idle_{cause}_ns": f"idle: {cause}" for cause in ALL_CAUSES},
}
UNEXPLAINED = {"idle_ns": "idle"}
"""Columns of steps.csv in words: those that are shown, and the one where causes are missing."""

HEADS = ("range path", "steps", "time", "median, ms", "least, ms", "most, ms", "of all")


def step_times(steps: pd.DataFrame, several: bool) -> pd.DataFrame:
    """A row per part of a step's time, for each path of a process; `several` processes are named.

    The last column is of the time of all steps, of which the parts make up the whole.
    """
    lines: list[list[Cell]] = []
    for (process, path), rows in steps.groupby(["process", "path"]):
        times = Value(len(rows), "count", (rows_of("steps", rows),), "count")
        lines += [[str(process), str(path), times, *part] for part in _parts(rows)]
    return by_process(lines, HEADS, several)


def _parts(rows: pd.DataFrame) -> Iterator[list[Cell]]:
    """Each part that isn't 0 in all steps: name, median, least, most, and share of the whole."""
    whole = _ms(rows, "wall_ns", "sum")
    known = rows["idle_launch_ns"].notna().all()
    for column, name in (PARTS if known else PARTS | UNEXPLAINED).items():
        if rows[column].fillna(0).any():
            share = ratio(_ms(rows, column, "sum"), whole, "share", f"{column} / wall_ns")
            yield [name, *(_ms(rows, column, how) for how in ("median", "min", "max")), share]


def idle_times(idle: pd.DataFrame, several: bool) -> pd.DataFrame:
    """A row per path, in their order; a column per cause that there is; `several` as above.

    The share is of the idle time of all steps of the process.
    """
    whole = idle.groupby("process")["own_idle_ns"].sum()
    times = {"idle_ns": "idle, ms", "own_idle_ns": "its own"}
    times |= {name: cause for cause in ALL_CAUSES if idle[name := f"idle_{cause}_ns"].any()}
    times |= {f"idle_ns{PER_STEP}": "idle, ms per step"}
    lines = []
    shown = most(idle, "idle_ns")
    for number, row in zip(shown.index, records(shown), strict=True):
        source = (Rows("idle", (number,)),)
        cells = [Value(row[column] / NS_PER_MS, "ms", source, column) for column in times]
        part = row["idle_ns"] / int(whole[row["process"]])
        share = value(part, "share", *source, formula="idle_ns / sum of own_idle_ns")
        lines.append([str(row["process"]), str(row["path"]), cells[0], share, *cells[1:]])
    idle_head, *more = times.values()
    return by_process(lines, ["range path", idle_head, "share", *more], several)


def _ms(rows: pd.DataFrame, column: str, how: str, table: str = "steps") -> Value:
    number = float(rows[column].agg(how)) / NS_PER_MS
    return Value(number, "ms", (rows_of(table, rows),), f"{how} of {column}")
