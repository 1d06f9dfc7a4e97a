"""Write the tables of any capture: its device time by range path, kernel and family.

Reads an SQLite export of nsys or a trace of torch.profiler, compressed or not, or a folder of Arrow
or Parquet files that nsys exported. A column's name ends with its unit. All device time of the
capture is in kernels.csv or in unplaced.csv, which is checked before anything is written.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import NOTES, Capture, Note
from workflow_src.captures.domains import domain_names
from workflow_src.captures.limits import add_limits, within_limits
from workflow_src.common.arguments import (
    Parser,
    any_path,
    existing_file,
    new_folder,
    pattern,
    positive,
)
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.attributed import Attributed, attributed, source_of
from workflow_src.placing.families import RULES, load_rules
from workflow_src.placing.idle import idle_by_path
from workflow_src.placing.joined import read_all
from workflow_src.placing.paths import OF_WORK, path_totals
from workflow_src.placing.per_step import InSteps
from workflow_src.placing.placing import WHOLE
from workflow_src.placing.steps import steps, thread_steps
from workflow_src.tables.certificate import certificate
from workflow_src.tables.diagnosis_tables import DIAGNOSIS_TABLES, diagnosis_tables

TABLES = (
    "paths", "kernels", "families", "unplaced", "steps", "idle", "domains", "summary", "notes",
    "certificate", *DIAGNOSIS_TABLES,
)  # fmt: skip
BUSY = {"activities": ("duration_ns", "size"), "busy_ns": ("duration_ns", "sum")}
IN_STEPS = {"activities_in_steps": ("in_step", "sum"), "busy_ns_in_steps": ("in_step_ns", "sum")}
SUMS = BUSY | IN_STEPS
"""What work comes to, and as far as it belongs to steps."""


def tables_of(found: Attributed, plain_ns: float | None = None) -> dict[str, pd.DataFrame]:
    """All tables by name; plain_ns: the time of a step without a profiler, if it is known.

    Raises TraceError if they don't account for all device time.
    """
    in_steps = InSteps.of(found.work, found.placed.ranges, found.ranged.steps.is_step)
    columns = ["kind", "name", "process", "family", "reason", "path", "named", "duration_ns"]
    work = found.work[columns].assign(
        in_step=in_steps.work.astype(np.int64),
        in_step_ns=np.where(in_steps.work, found.work["duration_ns"], 0),
    )
    launched = _launched(work, found.names)
    kernels, families, unplaced = (
        _per_step(table, in_steps)
        for table in (_kernels(found, launched), _families(found, launched), _unplaced(work))
    )
    totals = path_totals(found.placed.ranges, found.work, found.paths)
    _account(found.capture.total_ns, kernels, unplaced, totals)
    threads = thread_steps(source_of(found))
    idle, ledgers = idle_by_path(threads, found.work, found.paths), steps(threads)
    return {
        "paths": _paths_table(found, totals, in_steps),
        "kernels": kernels,
        "families": families,
        "unplaced": unplaced,
        "steps": ledgers,
        "idle": in_steps.added(idle, idle.drop(columns=["process", "path"])),
        "domains": found.ranged.domains,
        "summary": summary(found, in_steps.steps),
        "notes": _notes_table(found.notes),
        "certificate": certificate(found, in_steps, ledgers),
        **diagnosis_tables(found, plain_ns),
    }


def _account(
    total_ns: int, kernels: pd.DataFrame, unplaced: pd.DataFrame, totals: pd.DataFrame
) -> None:
    """Raise TraceError unless all device time is placed or unplaced, once."""
    placed_ns, unplaced_ns = int(kernels["busy_ns"].sum()), int(unplaced["busy_ns"].sum())
    if placed_ns + unplaced_ns != total_ns or int(totals["own_ns"].sum()) != placed_ns:
        raise TraceError(
            f"{placed_ns} ns in ranges and {unplaced_ns} ns outside are not the {total_ns} ns of "
            "the capture: this is a defect of the reader, please report it with the file"
        )


def _per_step(table: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    """A table of BUSY with the same per step, from IN_STEPS."""
    inside = table[list(IN_STEPS)].set_axis(list(BUSY), axis=1)
    return in_steps.added(table.drop(columns=list(IN_STEPS)), inside)


def read_tables_of(given: argparse.Namespace) -> dict[str, pd.DataFrame]:
    """The tables that the command was asked for. Raises TraceError if the capture can't be read."""
    rules = load_rules(given.families)
    with within_limits(given):
        capture = read_all(given.capture)
        placed = attributed(capture, given.domains, rules, given.fold, given.step)
        return tables_of(placed, given.step_ms and given.step_ms * NS_PER_MS)


def _paths_table(found: Attributed, totals: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    """A row per path, and what is in steps of it per step."""
    inside = totals
    if len(in_steps.steps) and not (in_steps.work.all() and in_steps.ranges.all()):
        counted = replace(found.paths, of_range=found.paths.of_range[in_steps.ranges])
        ranges = found.placed.ranges[in_steps.ranges]
        work = found.work.loc[in_steps.work, [*OF_WORK]]
        inside = path_totals(ranges, work, counted)
    table, per_step = (_in_ms(each, found.waits_known) for each in (totals, inside))
    table = pd.concat([totals[["process", "path"]], table], axis=1)
    table = in_steps.added(table, per_step)
    return table.sort_values(["process", "path"], ignore_index=True)


def _in_ms(totals: pd.DataFrame, waits_known: bool) -> pd.DataFrame:
    times = {
        "host_ms": "host_ns",
        "busy_ms": "busy_ns",
        "own_ms": "own_ns",
        "wait_ms": "wait_ns",
        "busy_union_ms": "union_ns",
        "span_ms": "span_ns",
    }
    in_ms = {name: totals[column] / NS_PER_MS for name, column in times.items()}
    table = totals[["instances"]].assign(**in_ms, activities=totals["activities"])
    return table if waits_known else table.assign(wait_ms=np.nan)


def _launched(work: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
    """A row per innermost path, by number, and kind and name of what was launched in it."""
    columns = ["path", "named", "duration_ns", "in_step", "in_step_ns"]
    own = work.loc[work["path"] != NOWHERE, columns].groupby(["path", "named"], as_index=False)
    return own.agg(**SUMS).join(names, on="named")


def _kernels(found: Attributed, launched: pd.DataFrame) -> pd.DataFrame:
    """The same with the text of each path and its process."""
    number = launched["path"].to_numpy()
    rows = launched.assign(process=found.paths.process[number], path=found.paths.text[number])
    order = ["process", "path", "busy_ns", "kind", "family", "name"]
    columns = ["process", "path", "kind", "family", "name", "short_name", *SUMS]
    return rows[columns].sort_values(order, ascending=[name != "busy_ns" for name in order])


def _families(found: Attributed, launched: pd.DataFrame) -> pd.DataFrame:
    """A row per path and family of all work launched in it, inner ranges included."""
    sums = launched.groupby(["path", "family"], as_index=False)[list(SUMS)].sum()
    parts, above = [sums], np.append(found.paths.above, NOWHERE)
    while len(parts[-1]):
        outer = parts[-1].assign(path=above[parts[-1]["path"].to_numpy()])
        parts.append(outer[outer["path"] != NOWHERE])
    table = pd.concat(parts).groupby(["path", "family"], as_index=False)[list(SUMS)].sum()
    number = table["path"].to_numpy()
    table = table.assign(process=found.paths.process[number], path=found.paths.text[number])
    columns = ["process", "path", "family", *SUMS]
    return table[columns].sort_values(["process", "path", "busy_ns"], ascending=[True, True, False])


def _unplaced(work: pd.DataFrame) -> pd.DataFrame:
    """A row per process, reason, kind and name of what has no path."""
    keys = ["process", "reason", "kind", "family", "name"]
    return work[work["path"] == NOWHERE].groupby(keys, as_index=False, observed=True).agg(**SUMS)


def summary(found: Attributed, step_counts: "pd.Series[int]") -> pd.DataFrame:
    """A row per process, also of those without device work, and one for all."""
    work = found.work[["process", "path", "duration_ns"]]
    streams = found.work[["process", "device", "stream"]].drop_duplicates()
    ranges = found.placed.ranges
    ranges = ranges[(ranges["name"] != WHOLE) | (ranges["thread"] != NOWHERE)]
    rows: list[dict[str, object]] = []
    for process in found.capture.processes:
        its = (each[each["process"] == process] for each in (work, streams, ranges))
        main = found.placed.main_threads.get(process)
        rows.append({"process": str(process), "main_thread": main, **_totals(*its)})
        rows[-1]["steps"] = int(step_counts.get(process, 0))
    every = _totals(work, streams, ranges)
    rows.append({"process": "all", "main_thread": None, **every, "steps": step_counts.sum()})
    about = {"profiler": found.capture.profiler, "version": found.capture.version}
    table = pd.DataFrame(rows).astype({"main_thread": "Int64"})
    steps_of = table.pop("steps")
    return table.assign(**about, steps=steps_of, steps_by=found.ranged.steps.rule.value)


def _totals(work: pd.DataFrame, streams: pd.DataFrame, ranges: pd.DataFrame) -> dict[str, int]:
    inside = work["path"] != NOWHERE
    return {
        "ranges": len(ranges),
        "threads_with_ranges": len(ranges[["process", "thread"]].drop_duplicates()),
        "devices": int(streams["device"].nunique()),
        "streams": len(streams),
        "activities": len(work),
        "total_ns": int(work["duration_ns"].sum()),
        "placed_ns": int(work.loc[inside, "duration_ns"].sum()),
        "unplaced_ns": int(work.loc[~inside, "duration_ns"].sum()),
    }


def _notes_table(notes: Sequence[Note]) -> pd.DataFrame:
    rows = [(note.code, note.count, note.about, NOTES[note.code]) for note in notes]
    return pd.DataFrame(rows, columns=["note", "count", "about", "meaning"])


def sentences(tables: dict[str, pd.DataFrame]) -> list[str]:
    """What the command prints: the totals, then a line per note."""
    every, paths = tables["summary"].iloc[-1], len(tables["paths"])
    lines = [
        f"{every['total_ns']} ns of device time in {every['activities']} activities: "
        f"{every['placed_ns']} ns in {paths} paths, {every['unplaced_ns']} ns in none"
    ]
    for _, note in tables["notes"].iterrows():
        about = f" ({note['about']})" if note["about"] else ""
        lines.append(f"{note['count']}{about}: {note['meaning']}")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables of one capture into a folder."""
    parser = Parser(prog="workflow_src.tables.capture_tables", description=__doc__)
    parser.add_argument(
        "--capture", type=any_path, nargs="+", required=True,
        help=".sqlite or .json, or either .gz, or a folder; several: traces of one job's ranks",
    )  # fmt: skip
    parser.add_argument(
        "--domains", type=domain_names, help="those whose ranges count; all but libraries' own"
    )
    parser.add_argument(
        "--fold",
        type=pattern,
        help="a pattern of what is left out of names: \\.\\d+; empty: all names stay as they are",
    )
    parser.add_argument(
        "--step", default="", help="the name of the ranges that are steps, * for a number"
    )
    parser.add_argument(
        "--step-ms",
        type=positive,
        help="the time of a step without a profiler, if it is known (ms)",
    )
    add_limits(parser)
    parser.add_argument("--families", type=existing_file, default=RULES, help="families.csv")
    parser.add_argument("--output", type=new_folder, required=True, help="folder for the CSVs")
    parser.add_argument(
        "--note-problem", action="store_true", help="write why it can't be read, and don't fail"
    )
    given = parser.parse_args(arguments)
    with one_sentence():
        try:
            found = read_tables_of(given)
        except TraceError as error:
            if not given.note_problem:
                raise
            found = tables_of(attributed(Capture.unreadable(str(error)), None))
        for name in TABLES:
            write_csv(given.output / f"{name}.csv", found[name])
        print(*sentences(found), sep="\n")


if __name__ == "__main__":
    main()
