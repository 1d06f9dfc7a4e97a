"""What the tables of one capture say, as values: totals, range paths, kernels, families, losses."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_src.capture_report.rank_result import Waiting, longest_waiting, rank_times
from workflow_src.capture_report.step_result import Working, idle_times, step_times, working
from workflow_src.captures.capture import OPERATOR, UNREADABLE
from workflow_src.common.errors import TraceError, remake
from workflow_src.common.reading import reading
from workflow_src.common.units import NS_PER_MS
from workflow_src.render.value import Cell, Rows, Value, ratio, rows_of, value

ALL = "all"
"""The process of the row of summary.csv that has the totals."""

SHOWN = 30
"""Rows of a table in Markdown; the CSVs and the page have all."""

FIRST_LINE = 2
"""The line of a CSV's first row, after its headings."""

DEVICE = "device time"
OPERATORS = "time of operators on a CPU, as no device work was read,"
"""What a capture's work takes."""

READ = ("paths", "kernels", "unplaced", "steps", "idle", "summary", "notes")


@dataclass(frozen=True)
class Leader:
    """The range path that holds the most device time of its own work, and its share of all."""

    path: str
    share: Value


@dataclass(frozen=True)
class Captured:
    """One capture: `total`, `placed` and `unplaced` device time in ms, and what has it.

    `takes` says that it is device time, or that of operators. `cut`: the file ended in its middle.
    `named`: the name of steps that no range has. `working` is how devices spend the time of steps,
    `waiting` the process that waits longest for others. `whole`: there are no ranges that count, so
    that all work is in one row. `paths` has the range paths, `ranks` those of several processes
    joined, `steps` how long steps take and where that goes, `idle` before the work of which range
    paths devices idled in steps, `kernels` and `families` what ran, `lost` what could not be placed
    and why, `processes` a row per process if there are several, `notes` what was read otherwise
    than recorded. `problem` says why the capture can't be read; there is nothing else then.
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
    named: str | None
    working: Working | None
    waiting: Waiting | None
    whole: bool
    leader: Leader | None
    about: pd.DataFrame
    paths: pd.DataFrame
    ranks: pd.DataFrame
    steps: pd.DataFrame
    idle: pd.DataFrame
    kernels: pd.DataFrame
    families: pd.DataFrame
    lost: pd.DataFrame
    processes: pd.DataFrame
    notes: pd.DataFrame


def read_tables(folder: Path) -> Mapping[str, pd.DataFrame]:
    """The tables of a capture. Raises TraceError if one is missing or damaged."""
    found = {}
    for name in READ:
        path = folder / f"{name}.csv"
        with reading(path, "a capture's table", remake(path), TraceError):
            table = pd.read_csv(path, keep_default_na=False, na_values=[""])
            found[name] = table.set_axis(table.index + FIRST_LINE)
    return found


def captured(name: str, tables: Mapping[str, pd.DataFrame]) -> Captured:
    """What the tables of one capture say."""
    summary = tables["summary"]
    every = summary[summary["process"].astype(str) == ALL]
    total, placed, unplaced = (
        _ms(every[f"{kind}_ns"], rows_of("summary", every))
        for kind in ("total", "placed", "unplaced")
    )
    several = len(summary) > len(every) + 1
    ranges = int(every["ranges"].iloc[0])
    problem = _about_note(tables["notes"], UNREADABLE)
    return Captured(
        name=name,
        problem=problem,
        total=total,
        placed=placed,
        unplaced=unplaced,
        share=ratio(placed, total, "share", "placed / total"),
        ranges=_count(ranges, every),
        takes=_takes(tables),
        cut="cut off" in set(tables["notes"]["note"]),
        named=_about_note(tables["notes"], "no step"),
        working=working(tables["steps"]),
        waiting=longest_waiting(tables["paths"]),
        whole=not ranges,
        leader=_leader(tables["paths"], total),
        about=pd.DataFrame() if problem else _about(every),
        paths=_paths(tables["paths"], total, several),
        ranks=rank_times(tables["paths"]),
        steps=step_times(tables["steps"], several),
        idle=idle_times(tables["idle"], several),
        kernels=_kernels(tables["kernels"], total, several),
        families=_families(tables["kernels"], total),
        lost=_lost(tables["unplaced"]),
        processes=_processes(summary, every) if several else pd.DataFrame(),
        notes=pd.DataFrame() if problem else _notes(tables["notes"]),
    )


def _takes(tables: Mapping[str, pd.DataFrame]) -> str:
    kinds = {*tables["kernels"]["kind"], *tables["unplaced"]["kind"]}
    return OPERATORS if kinds == {OPERATOR} else DEVICE


def _about_note(notes: pd.DataFrame, code: str) -> str | None:
    """What a note is about, such as why the capture can't be read; None without that note."""
    about = notes.loc[notes["note"] == code, "about"]
    return str(about.iloc[0]) if len(about) else None


def _ms(ns: "pd.Series[int]", source: Rows) -> Value:
    return Value(int(ns.sum()) / NS_PER_MS, "ms", (source,), "sum")


def _count(number: int, rows: pd.DataFrame, table: str = "summary") -> Value:
    return Value(number, "count", (rows_of(table, rows),), "count")


def _leader(paths: pd.DataFrame, total: Value) -> Leader | None:
    if paths.empty or not total.number:
        return None
    path = paths.groupby("path", sort=False)["own_ms"].sum().idxmax()
    rows = paths[paths["path"] == path]
    own = Value(float(rows["own_ms"].sum()), "ms", (rows_of("paths", rows),), "sum of own_ms")
    share = ratio(own, total, "share", "own / total")
    return Leader(str(path), share) if share else None


def _about(every: pd.DataFrame) -> pd.DataFrame:
    names = ("ranges", "threads_with_ranges", "devices", "streams", "activities")
    said = {name: name.replace("_", " ") for name in names}
    lines: list[list[Cell]] = [[name, _text(every, name)] for name in ("profiler", "version")]
    lines += [[said[name], _count(int(every[name].iloc[0]), every)] for name in names]
    return pd.DataFrame(lines, columns=["what was captured", "value"], dtype="object")


def _text(rows: pd.DataFrame, column: str) -> str | None:
    """A text; None if it wasn't recorded."""
    found = rows[column].iloc[0]
    return None if pd.isna(found) else str(found)


def _paths(paths: pd.DataFrame, total: Value, several: bool) -> pd.DataFrame:
    """A row per range path, in the order of the paths, the share of all device time with it."""
    columns = ["range path", "times", "host, ms", "device, ms", "share", "its own", "span, ms"]
    lines = []
    for number in paths.index:
        row = paths.loc[[number]]
        cells = [_cell(row, name, "paths") for name in ("host_ms", "busy_ms", "own_ms", "span_ms")]
        host, busy, own, span = cells
        line: list[Cell] = [_process(row)] if several else []
        line += [str(row["path"].iloc[0]), _count(int(row["instances"].iloc[0]), row, "paths")]
        line += [host, busy, ratio(busy, total, "share", "busy / total"), own, span]
        lines.append(line)
    heads = (["process"] if several else []) + columns
    return pd.DataFrame(lines, columns=heads, dtype="object")


def _process(row: pd.DataFrame) -> str:
    return str(row["process"].iloc[0])


def _cell(row: pd.DataFrame, column: str, table: str) -> Value | None:
    return value(float(row[column].iloc[0]), "ms", rows_of(table, row), formula=column)


def _kernels(kernels: pd.DataFrame, total: Value, several: bool) -> pd.DataFrame:
    """What ran, by name over all paths (of a process, if there are several), most time first."""
    keys = ["process", "name"] if several else ["name"]
    lines = []
    for _, rows in sorted(kernels.groupby(keys), key=lambda each: -each[1]["busy_ns"].sum()):
        ms = _ms(rows["busy_ns"], rows_of("kernels", rows))
        line: list[Cell] = [_process(rows)] if several else []
        line += [str(rows["short_name"].iloc[0]), str(rows["family"].iloc[0])]
        line += [_count(int(rows["activities"].sum()), rows, "kernels"), ms]
        line += [ratio(ms, total, "share", "busy / total"), _where(rows)]
        lines.append(line)
    heads = ["kernel", "family", "calls", "device, ms", "share", "most in"]
    return pd.DataFrame(lines, columns=(["process"] if several else []) + heads, dtype="object")


def _where(rows: pd.DataFrame) -> str:
    """The path in which most of the rows' time lies."""
    return str(rows["path"].iloc[int(rows["busy_ns"].argmax())])


def _families(kernels: pd.DataFrame, total: Value) -> pd.DataFrame:
    lines: list[list[Cell]] = []
    for family, rows in sorted(kernels.groupby("family"), key=lambda e: -e[1]["busy_ns"].sum()):
        ms = _ms(rows["busy_ns"], rows_of("kernels", rows))
        lines.append([str(family), _count(int(rows["activities"].sum()), rows, "kernels"), ms])
        lines[-1].append(ratio(ms, total, "share", "busy / total"))
    heads = ["family", "calls", "device, ms", "share"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def _lost(unplaced: pd.DataFrame) -> pd.DataFrame:
    lines: list[list[Cell]] = []
    for reason, rows in unplaced.groupby("reason"):
        ms = _ms(rows["busy_ns"], rows_of("unplaced", rows))
        lines.append([str(reason), _count(int(rows["activities"].sum()), rows, "unplaced"), ms])
    return pd.DataFrame(lines, columns=["why", "activities", "device, ms"], dtype="object")


def _processes(summary: pd.DataFrame, every: pd.DataFrame) -> pd.DataFrame:
    lines: list[list[Cell]] = []
    for number in summary.index.difference(every.index):
        row = summary.loc[[number]]
        times = [_ms(row[f"{kind}_ns"], rows_of("summary", row)) for kind in ("total", "placed")]
        lines.append([_process(row), _count(int(row["activities"].iloc[0]), row), *times])
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
                _count(int(row["count"].iloc[0]), row, "notes"),
                None if pd.isna(about) else str(about),
            ]
        )
    return pd.DataFrame(lines, columns=["what", "number", "of"], dtype="object")
