"""What the tables of one capture say, as values: totals, range paths, kernels, families, losses."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_src.capture_report.cpu_result import Outside, outside_operators
from workflow_src.capture_report.diagnosis_result import Diagnosed, Tables, diagnosed
from workflow_src.capture_report.rank_result import Waiting, longest_waiting, rank_times
from workflow_src.capture_report.shown import FIRST, most
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
from workflow_src.paper.markdown import records
from workflow_src.paper.value import Cell, Rows, Value, ratio, rows_of, value
from workflow_src.placing.per_step import PER_STEP

ALL = "all"
"""The process of the row of summary.csv that has the totals."""

DEVICE = "device time"
OPERATORS = "time of operators on a CPU, as no device work was read,"
"""What a capture's work takes."""

READ = (
    "paths", "kernels", "unplaced", "steps", "idle", "summary", "notes", "certificate",
    "diagnoses", "findings", "smaller", "step_work", "step_calls", "waits", "copies", "gaps",
    "step_differences", "idle_causes",
)  # fmt: skip


@dataclass(frozen=True)
class Leader:
    """The range path that holds the most device time of its own work, and its share of all."""

    path: str
    share: Value


@dataclass(frozen=True)
class Captured:
    """One capture: `total`, `placed` and `unplaced` device time in ms, and what has it.

    `takes` says that it is device time, or that of operators. `cut`: the file ended in its middle.
    `no_kernels`: it has calls that launched some, and none.
    `named`: the name of steps that no range has. `steps_found`: whether there are any, `diagnosed`
    what is wrong with them, `outside` what passes beside operators on a CPU. `waiting` is the
    process that waits longest for others. `whole`: there are no ranges that count, so that all work
    is in one row. `candidates` has, where no steps were found, the ranges that repeat, `paths` has
    the range paths, `ranks`
    those of several processes joined, `steps` how long steps take and where that goes, `idle`
    before the work of which range paths devices idled in steps, `kernels` and `families` what ran,
    `lost` what could not be placed and why, `processes` a row per process if there are several,
    `notes` what was read otherwise than recorded, `certificate` whether it can be trusted.
    `problem` says why the capture can't be
    read; there is nothing else then.
    """

    name: str
    problem: str | None
    total: Value
    placed: Value
    unplaced: Value
    share: Value | None
    ranges: Value
    takes: str
    cut: bool
    no_kernels: bool
    named: str | None
    steps_found: bool
    diagnosed: Diagnosed
    outside: Outside | None
    waiting: Waiting | None
    whole: bool
    leader: Leader | None
    about: pd.DataFrame
    candidates: pd.DataFrame
    paths: pd.DataFrame
    ranks: pd.DataFrame
    steps: pd.DataFrame
    idle: pd.DataFrame
    kernels: pd.DataFrame
    families: pd.DataFrame
    lost: pd.DataFrame
    processes: pd.DataFrame
    notes: pd.DataFrame
    certificate: pd.DataFrame


def read_tables(folder: Path) -> Tables:
    """The tables of a capture. Raises TraceError if one is missing or damaged."""
    return {
        name: read_table(
            folder / f"{name}.csv", f"capture/{name}", "a capture's table", error=TraceError
        )
        for name in READ
    }


def problem_of(tables: Tables) -> str | None:
    """Why a capture can't be read; None if it can."""
    return _about_note(tables["notes"], UNREADABLE)


def captured(name: str, tables: Tables) -> Captured:
    """What the tables of one capture say."""
    summary = tables["summary"]
    every = summary[summary["process"].astype(str) == ALL]
    total, placed, unplaced = (
        ms_of(every[f"{kind}_ns"], rows_of("summary", every))
        for kind in ("total", "placed", "unplaced")
    )
    several = len(summary) > len(every) + 1
    ranges = int(every["ranges"].iloc[0])
    steps = int(every["steps"].iloc[0])
    problem = problem_of(tables)
    return Captured(
        name=name,
        problem=problem,
        total=total,
        placed=placed,
        unplaced=unplaced,
        share=ratio(placed, total, "share", "placed / total"),
        ranges=count_of(ranges, every),
        takes=_takes(tables),
        cut="cut off" in set(tables["notes"]["note"]),
        no_kernels=NO_KERNELS in set(tables["notes"]["note"]),
        named=_about_note(tables["notes"], "no step"),
        steps_found=steps > 0,
        diagnosed=diagnosed(tables, several),
        outside=outside_operators(tables) if _takes(tables) is OPERATORS else None,
        waiting=longest_waiting(tables["paths"]),
        whole=not ranges,
        leader=_leader(tables["paths"], total),
        about=pd.DataFrame() if problem else _about(every),
        candidates=pd.DataFrame() if steps else _candidates(tables["paths"]),
        paths=_paths(most(tables["paths"], "busy_ms"), total, several, bool(steps)),
        ranks=rank_times(tables["paths"]),
        steps=step_times(tables["steps"], several),
        idle=idle_times(tables["idle"], several),
        kernels=kernel_times(tables["kernels"], total, several, bool(steps)),
        families=family_times(tables["kernels"], total, steps),
        lost=unplaced_times(tables["unplaced"], total, steps),
        processes=_processes(summary, every) if several else pd.DataFrame(),
        notes=pd.DataFrame() if problem else _notes(tables["notes"]),
        certificate=pd.DataFrame() if problem else _certificate(tables["certificate"]),
    )


def _takes(tables: Tables) -> str:
    kinds = {*tables["kernels"]["kind"], *tables["unplaced"]["kind"]}
    return OPERATORS if kinds == {OPERATOR} else DEVICE


def _about_note(notes: pd.DataFrame, code: str) -> str | None:
    """What a note is about, such as why the capture can't be read; None without that note."""
    about = notes.loc[notes["note"] == code, "about"]
    return str(about.iloc[0]) if len(about) else None


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
    lines: list[list[Cell]] = [[name, _text(every, name)] for name in ("profiler", "version")]
    lines += [[said[name], count_of(int(every[name].iloc[0]), every)] for name in names]
    lines.append(["steps are", _text(every, "steps_by")])
    return pd.DataFrame(lines, columns=["what was captured", "value"], dtype="object")


def _text(rows: pd.DataFrame, column: str) -> str | None:
    """A text; None if it wasn't recorded."""
    found = rows[column].iloc[0]
    return None if pd.isna(found) else str(found)


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


def _paths(paths: pd.DataFrame, total: Value, several: bool, stepped: bool) -> pd.DataFrame:
    """A row per range path, in the order of the paths, the share of all device time with it."""
    times = ("host_ms", "busy_ms", "own_ms", "span_ms")
    of_a_step = {"instances": "", "busy_ms": "ms", "own_ms": "ms"} if stepped else {}
    lines = []
    for number, row in zip(paths.index, records(paths), strict=True):
        source = Rows("paths", (number,))
        host, busy, own, span = (value(row[name], "ms", source, formula=name) for name in times)
        line: list[Cell] = [str(row["process"])] if several else []
        line += [str(row["path"]), Value(int(row["instances"]), "count", (source,), "count")]
        line += [host, busy, ratio(busy, total, "share", "busy / total"), own, span]
        line += [value(row[name + PER_STEP], unit, source) for name, unit in of_a_step.items()]
        lines.append(line)
    heads = ["range path", "times", "host, ms", "device, ms", "share", "its own", "span, ms"]
    heads += ["times per step", "device, ms per step", "its own per step"] if stepped else []
    return pd.DataFrame(lines, columns=(["process"] if several else []) + heads, dtype="object")


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
    lines: list[list[Cell]] = []
    for number in notes.index:
        row = notes.loc[[number]]
        about = row["about"].iloc[0]
        lines.append(
            [
                str(row["meaning"].iloc[0]),
                count_of(int(row["count"].iloc[0]), row, "notes"),
                None if pd.isna(about) else str(about),
            ]
        )
    return pd.DataFrame(lines, columns=["what", "number", "of"], dtype="object")


def _certificate(checks: pd.DataFrame) -> pd.DataFrame:
    """A row per check: what it comes to, its verdict, and what it means."""
    lines: list[list[Cell]] = []
    for number in checks.index:
        row = checks.loc[[number]]
        check, result, unit, verdict, meaning = row.iloc[0]
        source = rows_of("certificate", row)
        text = None if pd.isna(result) else str(result)
        cell = text if text is None or pd.isna(unit) else value(float(text), str(unit), source)
        lines.append([str(check), cell, str(verdict), str(meaning)])
    heads = ["checked", "result", "verdict", "what it means"]
    return pd.DataFrame(lines, columns=heads, dtype="object")
