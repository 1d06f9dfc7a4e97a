"""Write the tables of any capture: its device time by range path, kernel and family.

Reads an SQLite export of nsys or a trace of torch.profiler, compressed or not, or a folder of Arrow
or Parquet files that nsys exported. A column's name ends with its unit. All device time of the
capture is in kernels.csv, which is checked before anything is written.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import Capture, noted
from workflow_src.captures.limits import within_limits
from workflow_src.common.arguments import Parser, existing_file, new_folder, positive
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.table_schema import tables_in
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.attributed import Attributed, attributed, source_of
from workflow_src.placing.families import RULES, load_rules
from workflow_src.placing.given import add_capture, read
from workflow_src.placing.idle import idle_by_path
from workflow_src.placing.paths import OF_WORK, added_up, path_totals
from workflow_src.placing.per_step import InSteps
from workflow_src.placing.placing import is_unplaced
from workflow_src.placing.steps import steps, thread_steps
from workflow_src.tables.capture_summary import notes_table, sentences, summary
from workflow_src.tables.certificate import certificate
from workflow_src.tables.diagnosis_tables import diagnosis_tables

TABLES = tables_in("capture")
BUSY = {"activities": ("duration_ns", "size"), "busy_ns": ("duration_ns", "sum")}
IN_STEPS = {"activities_in_steps": ("in_step", "sum"), "busy_ns_in_steps": ("in_step_ns", "sum")}
SUMS = BUSY | IN_STEPS
"""What work comes to, and as far as it belongs to steps."""

KERNELS = ["process", "path", "kind", "family", "name", "short_name", *SUMS]
"""What a row of kernels tells; of work without a path, `path` is the reason in brackets."""


def tables_of(found: Attributed, plain_ns: float | None = None) -> dict[str, pd.DataFrame]:
    """All tables by name; plain_ns: the time of a step without a profiler, if it is known.

    Raises TraceError if they don't account for all device time.
    """
    return placed_tables(found) | diagnosis_tables(found, plain_ns)


def placed_tables(found: Attributed) -> dict[str, pd.DataFrame]:
    """The tables of where device time is, by name: all but those of the diagnosis.

    Raises TraceError if they don't account for all device time.
    """
    in_steps = InSteps.of(found.work, found.placed.ranges, found.ranged.steps.is_step)
    launched = _launched(found, in_steps)
    kernels = pd.concat([_kernels(found, launched), _unplaced(found, in_steps)], ignore_index=True)
    families = _families(found, launched)
    totals = path_totals(found.placed.ranges, found.work, found.paths)
    _account(found.capture.total_ns, kernels, totals)
    idle, ledgers = _stepwise(found)
    return {
        "paths": _paths_table(found, totals, in_steps),
        "kernels": _per_step(kernels, in_steps),
        "families": _per_step(families, in_steps),
        "steps": ledgers,
        "idle": in_steps.added(idle, idle.drop(columns=["process", "path"])),
        "domains": found.ranged.domains,
        "summary": summary(found, in_steps.steps),
        "notes": notes_table(found.notes),
        "certificate": certificate(found, in_steps, ledgers, launched),
    }


def _stepwise(found: Attributed) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Where devices were idle in steps, and the ledger of each step."""
    threads = [] if found.kernels_lost else thread_steps(source_of(found))
    return idle_by_path(threads, found.work, found.paths), steps(threads)


def _account(total_ns: int, kernels: pd.DataFrame, totals: pd.DataFrame) -> None:
    """Raise TraceError unless all device time is placed or unplaced, once."""
    nowhere = is_unplaced(kernels["path"])
    placed_ns, unplaced_ns = (
        int(kernels.loc[some, "busy_ns"].sum()) for some in (~nowhere, nowhere)
    )
    if placed_ns + unplaced_ns != total_ns or int(totals["own_ns"].sum()) != placed_ns:
        raise TraceError(
            f"{placed_ns} ns in ranges and {unplaced_ns} ns outside are not the {total_ns} ns of "
            "the capture: this is a defect of the reader, please report it with the file"
        )


def _per_step(table: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    """A table of BUSY with the same per step, from IN_STEPS."""
    inside = table[list(IN_STEPS)].set_axis(list(BUSY), axis=1)
    return in_steps.added(table.drop(columns=list(IN_STEPS)), inside)


def _paths_table(found: Attributed, totals: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    """A row per path, and what is in steps of it per step."""
    inside = totals
    if len(in_steps.steps) and not (in_steps.work.all() and in_steps.ranges.all()):
        counted = replace(found.paths, of_range=found.paths.of_range[in_steps.ranges])
        ranges = found.placed.ranges[in_steps.ranges]
        work = found.work.loc[in_steps.work, [*OF_WORK]]
        inside = path_totals(ranges, work, counted)
    table, per_step = (_in_ms(each, found) for each in (totals, inside))
    table = pd.concat([totals[["process", "path"]], table], axis=1)
    table = in_steps.added(table, per_step)
    return table.sort_values(["process", "path"], ignore_index=True)


def _in_ms(totals: pd.DataFrame, found: Attributed) -> pd.DataFrame:
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
    unknown = list(times)[1:] if found.kernels_lost else [] if found.waits_known else ["wait_ms"]
    return table.assign(**dict.fromkeys(unknown, np.nan))


def _launched(found: Attributed, in_steps: InSteps) -> pd.DataFrame:
    """A row per innermost path, by number, and kind and name of what was launched in it."""
    path, named = (found.work[name].to_numpy() for name in ("path", "named"))
    kinds = max(1, len(found.names))
    code, keys = pd.factorize(path.astype(np.int64) * kinds + named, sort=True)
    lengths, rows = found.work["duration_ns"].to_numpy(), len(keys)
    inside = code if in_steps.work.all() else code[in_steps.work]
    columns = {
        "path": keys // kinds,
        "named": keys % kinds,
        "activities": np.bincount(code, minlength=rows),
        "busy_ns": added_up(code, lengths, rows),
        "activities_in_steps": np.bincount(inside, minlength=rows),
        "busy_ns_in_steps": added_up(code, np.where(in_steps.work, lengths, 0), rows),
    }
    sums = pd.DataFrame(columns)
    sums = sums[sums["path"] != NOWHERE]
    return sums.join(found.names, on="named").reset_index(drop=True)


def _kernels(found: Attributed, launched: pd.DataFrame) -> pd.DataFrame:
    """The same with the text of each path and its process, with KERNELS."""
    number = launched["path"].to_numpy()
    rows = launched.assign(process=found.paths.process[number], path=found.paths.text[number])
    order = ["process", "path", "busy_ns", "kind", "family", "name"]
    return rows[KERNELS].sort_values(order, ascending=[name != "busy_ns" for name in order])


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


def _unplaced(found: Attributed, in_steps: InSteps) -> pd.DataFrame:
    """A row per process, reason, kind and name of what has no path, with KERNELS."""
    keys = ["process", "reason", "named"]
    outside = (found.work["path"] == NOWHERE).to_numpy()
    in_step, work = in_steps.work[outside], found.work.loc[outside, [*keys, "duration_ns"]]
    work = work.assign(in_step=in_step, in_step_ns=work["duration_ns"].where(in_step, 0))
    sums = work.groupby(keys, as_index=False, observed=True).agg(**SUMS)
    rows = sums.join(found.names, on="named")
    return rows.assign(path=rows["reason"].map("({})".format))[KERNELS]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables of one capture into a folder."""
    parser = Parser(prog="workflow_src.tables.capture_tables", description=__doc__)
    add_capture(parser)
    parser.add_argument("--step-ms", type=positive, help="a step's time without a profiler (ms)")
    others = (
        "say that traces of other ranks were given, of which nothing shows that they are its job's"
    )
    parser.add_argument("--apart", action="store_true", help=others)
    parser.add_argument("--families", type=existing_file, default=RULES, help="families.csv")
    parser.add_argument("--output", type=new_folder, required=True, help="folder for the CSVs")
    given = parser.parse_args(arguments)
    with one_sentence():
        try:
            plain_ns = given.step_ms and given.step_ms * NS_PER_MS
            with within_limits(given):
                placed = read(given, load_rules(given.families))
                notes = placed.notes + noted(apart=int(given.apart))
                found = tables_of(replace(placed, notes=notes), plain_ns)
        except TraceError as error:
            if not given.note_problem:
                raise
            found = tables_of(attributed(Capture.unreadable(str(error)), None))
        for name in TABLES:
            write_csv(given.output / f"{name}.csv", found[name])
        print(*sentences(found), sep="\n")


if __name__ == "__main__":
    main()
