"""What the tables of one capture say, as values: totals, range paths, kernels, families, losses."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_src.capture_report.cpu_result import Outside, outside_operators
from workflow_src.capture_report.diagnosis_result import Diagnosed, Tables, diagnosed
from workflow_src.capture_report.rank_result import Waiting, longest_waiting, rank_times
from workflow_src.capture_report.shown import FIRST, by_process, cells_of, most, text_of
from workflow_src.capture_report.step_result import idle_times, step_times
from workflow_src.capture_report.work_result import (
    count_of,
    family_times,
    kernel_times,
    ms_of,
    unplaced_times,
)
from workflow_src.captures.capture import NO_KERNELS, OPERATOR, UNREADABLE
from workflow_src.common.errors import TraceError
from workflow_src.common.read_table import read_table
from workflow_src.common.table_schema import columns
from workflow_src.paper.markdown import records
from workflow_src.paper.value import Cell, Rows, Value, ratio, rows_of, value
from workflow_src.placing.per_step import PER_STEP

ALL = "all"
"""The process of the row of summary.csv that has the totals."""

DEVICE = "device time"
OPERATORS = "time of operators on a CPU, as no device work was read,"
"""What a capture's work takes."""

READ = (
    "paths", "kernels", "steps", "idle", "summary", "notes", "certificate",
    "diagnoses", "findings", "smaller", "step_work", "step_calls", "waits", "copies", "gaps",
    "step_differences", "idle_causes",
)  # fmt: skip


@dataclass(frozen=True)
class Leader:
    """The range path that holds the most device time of its own work, and its share of all."""

    path: str
    share: Value


@dataclass(frozen=True)
class Work:
    """What a capture's work takes, in ms; `whole`: no ranges count, so that all is in one row.

    takes: whether it is device time, or that of operators; outside: on a CPU, what passes beside
    these in steps.
    """

    total: Value
    placed: Value
    unplaced: Value
    takes: str
    whole: bool
    leader: Leader | None
    outside: Outside | None


@dataclass(frozen=True)
class Captured:
    """One capture. `noted` has what each note in reading is about, by its code.

    steps_found: whether there are any; waiting: the process that waits longest for others; tables:
    all that aren't `diagnosed`, by name: `about`; `candidates`, the ranges that repeat, where no
    steps were found; `paths`, `kernels` and `families` of work, `lost` what could not be placed;
    `steps` and `idle`, before the work of which range paths; `processes` and `ranks`, of several;
    `notes`; `certificate`.
    """

    name: str
    noted: Mapping[str, str]
    work: Work
    steps_found: bool
    waiting: Waiting | None
    diagnosed: Diagnosed
    tables: Tables

    @property
    def problem(self) -> str | None:
        """Why the capture can't be read; there is nothing else then."""
        return self.noted.get(UNREADABLE)


def read_tables(folder: Path) -> Tables:
    """The tables of a capture. Raises TraceError if one is missing or damaged."""
    return {
        name: read_table(
            folder / f"{name}.csv", f"capture/{name}", "a capture's table", error=TraceError
        )
        for name in READ
    }


def notes_of(tables: Tables) -> dict[str, str]:
    """What the first note of each code is about."""
    first = tables["notes"].drop_duplicates("note")
    return dict(zip(first["note"], first["about"].astype(str), strict=True))


def captured(name: str, tables: Tables) -> Captured:
    """What the tables of one capture say."""
    summary = tables["summary"]
    every = summary[summary["process"].astype(str) == ALL]
    several = len(summary) > len(every) + 1
    steps, notes = int(every["steps"].iloc[0]), notes_of(tables)
    work = _work(tables, every)
    total = None if NO_KERNELS in notes else work.total
    found = {
        "candidates": pd.DataFrame() if steps else _candidates(tables["paths"]),
        "paths": _paths(most(tables["paths"], "busy_ms"), total, several, steps > 0),
        "ranks": rank_times(tables["paths"]),
        "steps": step_times(tables["steps"], several),
        "idle": idle_times(tables["idle"], several),
        "kernels": kernel_times(tables["kernels"], total, several, steps > 0),
        "families": family_times(tables["kernels"], total, steps),
        "lost": unplaced_times(tables["kernels"], total, steps),
        "processes": _processes(summary, every) if several else pd.DataFrame(),
    }
    read = {
        "about": _about(every),
        "notes": _notes(tables["notes"]),
        "certificate": _certificate(tables["certificate"]),
    }
    if UNREADABLE in notes:
        read = dict.fromkeys(read, pd.DataFrame())
    waiting = longest_waiting(tables["paths"])
    shown = diagnosed(tables, several)
    return Captured(name, notes, work, steps > 0, waiting, shown, found | read)


def _work(tables: Tables, every: pd.DataFrame) -> Work:
    total, placed, unplaced = (
        ms_of(every[f"{kind}_ns"], rows_of("summary", every))
        for kind in ("total", "placed", "unplaced")
    )
    whole, leader = not every["ranges"].iloc[0], _leader(tables["paths"], total)
    takes = _takes(tables)
    outside = outside_operators(tables) if takes is OPERATORS else None
    return Work(total, placed, unplaced, takes, whole, leader, outside)


def _takes(tables: Tables) -> str:
    return OPERATORS if {*tables["kernels"]["kind"]} == {OPERATOR} else DEVICE


def _leader(paths: pd.DataFrame, total: Value) -> Leader | None:
    if paths.empty or not total.number:
        return None
    path = paths.groupby("path", sort=False)["own_ms"].sum().idxmax()
    rows = paths[paths["path"] == path]
    own = Value(float(rows["own_ms"].sum()), "ms", (rows_of("paths", rows),), "sum of own_ms")
    share = ratio(own, total, "share", "own / total")
    return Leader(str(path), share) if share else None


def _about(every: pd.DataFrame) -> pd.DataFrame:
    names = ("ranges", "threads_with_ranges", "devices", "streams", "activities", "steps")
    said = {name: name.replace("_", " ") for name in names}
    lines: list[list[Cell]] = [
        [name, text_of(every[name].iloc[0])] for name in ("profiler", "version")
    ]
    lines += [[said[name], count_of(int(every[name].iloc[0]), every)] for name in names]
    lines.append(["steps are", text_of(every["steps_by"].iloc[0])])
    return pd.DataFrame(lines, columns=["what was captured", "value"], dtype="object")


def _candidates(paths: pd.DataFrame) -> pd.DataFrame:
    """The ranges that repeat, outer ones first: how often, and their times."""
    often = paths[paths["instances"] > 1]
    depth = often["path"].astype(str).str.replace(r"\\.", "", regex=True).str.count("/")
    shown = often.loc[depth.sort_values(kind="stable").index][:FIRST]
    lines: list[list[Cell]] = [
        [
            str(row["path"]),
            Value(int(row["instances"]), "count", (source,), "count"),
            *(value(row[name], "ms", source, formula=name) for name in ("host_ms", "busy_ms")),
        ]
        for row, source in zip(
            records(shown), (Rows("paths", (number,)) for number in shown.index), strict=True
        )
    ]
    heads = ["range path", "times", "host, ms", "device, ms"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def _paths(paths: pd.DataFrame, total: Value | None, several: bool, stepped: bool) -> pd.DataFrame:
    """A row per range path, in the order of the paths, the share of all device time with it."""
    times = ("host_ms", "busy_ms", "own_ms", "span_ms")
    of_a_step = {"instances": "", "busy_ms": "ms", "own_ms": "ms"} if stepped else {}
    lines = []
    for number, row in zip(paths.index, records(paths), strict=True):
        source = Rows("paths", (number,))
        host, busy, own, span = (value(row[name], "ms", source, formula=name) for name in times)
        line: list[Cell] = [str(row["process"]), str(row["path"])]
        line += [Value(int(row["instances"]), "count", (source,), "count")]
        line += [host, busy, ratio(busy, total, "share", "busy / total"), own, span]
        line += [value(row[name + PER_STEP], unit, source) for name, unit in of_a_step.items()]
        lines.append(line)
    heads = ["range path", "times", "host, ms", "device, ms", "share", "its own", "span, ms"]
    heads += ["times per step", "device, ms per step", "its own per step"] if stepped else []
    return by_process(lines, heads, several)


def _processes(summary: pd.DataFrame, every: pd.DataFrame) -> pd.DataFrame:
    lines: list[list[Cell]] = []
    for number in summary.index.difference(every.index):
        row = summary.loc[[number]]
        times = [ms_of(row[f"{kind}_ns"], rows_of("summary", row)) for kind in ("total", "placed")]
        lines.append(
            [str(row["process"].iloc[0]), count_of(int(row["activities"].iloc[0]), row), *times]
        )
    heads = ["process", "activities", "device, ms", "of it in ranges, ms"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def _notes(notes: pd.DataFrame) -> pd.DataFrame:
    shown = [columns("capture/notes")[name] for name in ("meaning", "count", "about")]
    lines, heads = cells_of(notes, "notes", shown), ["what", "number", "of"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def _certificate(checks: pd.DataFrame) -> pd.DataFrame:
    """A row per check: what it comes to, its verdict, and what it means."""
    lines: list[list[Cell]] = []
    for number, row in zip(checks.index, records(checks), strict=True):
        text, unit, source = (
            text_of(row["value"]),
            text_of(row["unit"]),
            Rows("certificate", (number,)),
        )
        cell = value(float(text), unit, source) if text and unit else text
        lines.append([str(row["check"]), cell, str(row["verdict"]), str(row["meaning"])])
    heads = ["checked", "result", "verdict", "what it means"]
    return pd.DataFrame(lines, columns=heads, dtype="object")
