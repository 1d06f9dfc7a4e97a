"""The tables of any capture: its device time by range path, kernel and family, and its diagnosis.

A column's name ends with its unit. All device time of the capture is in `kernels`: that is checked.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import NOTES, OPERATOR
from workflow_src.common.errors import TraceError
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.table_schema import tables_in
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.paths import OF_WORK, added_up, path_totals
from workflow_src.placing.per_step import InSteps
from workflow_src.placing.placing import WHOLE
from workflow_src.placing.steps import steps, thread_steps
from workflow_src.tables.certificate import certificate
from workflow_src.tables.diagnosis_tables import diagnosis_tables

TABLES = tables_in("capture")
BUSY = ["activities", "busy_ns"]
IN_STEPS = ["activities_in_steps", "busy_ns_in_steps"]
"""What work comes to, and as far as it belongs to steps."""

KERNELS = ["process", "path", "kind", "family", "name", "short_name", *BUSY, *IN_STEPS]
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
    in_steps = InSteps.of(found.work, found.placed.ranges, found.steps.is_step)
    sums = _sums(found, in_steps)
    launched = sums[sums["path"] != NOWHERE].reset_index(drop=True)
    totals = path_totals(found.placed.ranges, found.work, found.paths)
    _account(found.capture.total_ns, sums, totals)
    threads = [] if found.kernels_lost else thread_steps(found)
    ledgers = steps(threads)
    return {
        "paths": _paths_table(found, totals, in_steps),
        "kernels": _per_step(_kernels(sums), in_steps),
        "steps": ledgers,
        "summary": summary(found, in_steps.steps),
        "notes": pd.DataFrame(
            [(note.code, note.count, note.about, NOTES[note.code]) for note in found.notes],
            columns=["note", "count", "about", "meaning"],
        ),
        "certificate": certificate(found, in_steps, ledgers, launched),
    }


def _account(total_ns: int, sums: pd.DataFrame, totals: pd.DataFrame) -> None:
    """Raise TraceError unless all device time is placed or unplaced, once."""
    nowhere = sums["path"] == NOWHERE
    placed_ns, unplaced_ns = (int(sums.loc[some, "busy_ns"].sum()) for some in (~nowhere, nowhere))
    if placed_ns + unplaced_ns != total_ns or int(totals["own_ns"].sum()) != placed_ns:
        raise TraceError(
            f"{placed_ns} ns in ranges and {unplaced_ns} ns outside are not the {total_ns} ns of "
            "the capture: this is a defect of the reader, please report it with the file"
        )


def _per_step(table: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    """A table of BUSY with the same per step, from IN_STEPS."""
    return in_steps.added(table.drop(columns=IN_STEPS), table[IN_STEPS].set_axis(BUSY, axis=1))


def _paths_table(found: Attributed, totals: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    """A row per path, and what is in steps of it per step."""
    inside = totals
    if len(in_steps.steps) and not (in_steps.work.all() and in_steps.ranges.all()):
        counted = replace(found.paths, of_range=found.paths.of_range[in_steps.ranges])
        ranges = found.placed.ranges[in_steps.ranges]
        inside = path_totals(ranges, found.work.loc[in_steps.work, [*OF_WORK]], counted)
    per_step = _in_ms(inside, found)[["instances", "busy_ms", "own_ms", "backward_ms"]]
    table = in_steps.added(totals[["process", "path"]].join(_in_ms(totals, found)), per_step)
    return table.sort_values(["process", "path"], ignore_index=True)


def _in_ms(totals: pd.DataFrame, found: Attributed) -> pd.DataFrame:
    names = ["host_ns", "busy_ns", "own_ns", "wait_ns", "span_ns", "backward_ns"]
    times = (totals[names] / NS_PER_MS).set_axis([f"{name[:-3]}_ms" for name in names], axis=1)
    unknown = [*times][1:] if found.kernels_lost else [] if found.waits_known else ["wait_ms"]
    times[unknown] = np.nan
    if not (found.work["made_in"] >= 0).any():
        times["backward_ms"] = np.nan
    return totals[["instances"]].join(times)


def _sums(found: Attributed, in_steps: InSteps) -> pd.DataFrame:
    """A row per kind and name of what was launched in an innermost path, or is in none.

    path: its number, or NOWHERE; place: the same, or beyond all paths the number of `process` and
    `reason` why it has none.
    """
    work, paths, kinds = found.work, len(found.paths.text), max(1, len(found.names))
    place = work["path"].to_numpy(dtype=np.int64, copy=True)
    nowhere = place == NOWHERE
    without = work.loc[nowhere, ["process", "reason"]].groupby(["process", "reason"], observed=True)
    place[nowhere] = paths + without.ngroup().to_numpy()
    place *= kinds
    place += work["named"].to_numpy()
    code, keys = pd.factorize(place, sort=True)
    lengths, count, mine = work["duration_ns"].to_numpy(), len(keys), in_steps.work
    place, named = np.divmod(keys, kinds)
    texts = [f"({reason})" for _, reason in without.size().index]
    processes = without.size().index.get_level_values(0).to_numpy(dtype=np.int64)
    sums = pd.DataFrame({
        "process": np.append(found.paths.process, processes)[place],
        "text": np.append(found.paths.text, np.array(texts, dtype=object))[place],
        "path": np.where(place < paths, place, NOWHERE),
        "named": named,
        "activities": np.bincount(code, minlength=count),
        "busy_ns": added_up(code, lengths, count),
        "activities_in_steps": np.bincount(code if mine.all() else code[mine], minlength=count),
        "busy_ns_in_steps": added_up(code, np.where(mine, lengths, 0), count),
    })  # fmt: skip
    return sums.join(found.names, on="named")


def _kernels(sums: pd.DataFrame) -> pd.DataFrame:
    """The same with the texts of paths, and what has none below what has one, with KERNELS."""
    placed, rows = sums["path"] != NOWHERE, sums.assign(path=sums["text"])[KERNELS]
    order = ["process", "path", "busy_ns", "kind", "family", "name"]
    first = rows[placed].sort_values(order, ascending=[name != "busy_ns" for name in order])
    return pd.concat([first, rows[~placed]], ignore_index=True)


def summary(found: Attributed, step_counts: "pd.Series[int]") -> pd.DataFrame:
    """A row per process, also of those without device work, and one for all."""
    work, ranges, processes = found.work, found.placed.ranges, found.capture.processes
    ranges = ranges[(ranges["name"] != WHOLE) | (ranges["thread"] != NOWHERE)]
    threads = ranges[["process", "thread"]].drop_duplicates()
    # Operators of a CPU are on no device.
    streams = work.loc[work["kind"] != OPERATOR, ["process", "device", "stream"]].drop_duplicates()
    placed, backward, told = (
        work["duration_ns"].where(holds, 0)
        for holds in (work["path"] != NOWHERE, work["made_in"] != NOWHERE, work["made_in"] >= 0)
    )
    counts = {
        "ranges": ranges["process"].value_counts(),
        "threads_with_ranges": threads["process"].value_counts(),
        "devices": streams.groupby("process")["device"].nunique(),
        "streams": streams["process"].value_counts(),
        "activities": work["process"].value_counts(),
        "total_ns": work["duration_ns"].groupby(work["process"]).sum(),
        "placed_ns": placed.groupby(work["process"]).sum(),
        "backward_ns": backward.groupby(work["process"]).sum(),
        "backward_placed_ns": told.groupby(work["process"]).sum(),
        "steps": step_counts,
    }
    table = pd.DataFrame({
        name: each.reindex(processes, fill_value=0).astype("int64")
        for name, each in counts.items()
    })  # fmt: skip
    every = table.sum().to_frame().T.assign(devices=streams["device"].nunique())
    table = pd.concat([table, every], ignore_index=True)
    table.insert(0, "process", [*map(str, processes), "all"])
    by, steps_of = found.capture.recording, table.pop("steps")
    return table.assign(
        unplaced_ns=table["total_ns"] - table["placed_ns"],
        profiler=by.profiler,
        version=by.version,
        steps=steps_of,
        steps_by=found.steps.rule.value,
    )


def sentences(tables: dict[str, pd.DataFrame]) -> list[str]:
    """What the command prints: the totals, then a line per note."""
    every, paths, notes = tables["summary"].iloc[-1], len(tables["paths"]), tables["notes"]
    return [
        f"{every['total_ns']} ns of device time in {every['activities']} activities: "
        f"{every['placed_ns']} ns in {paths} paths, {every['unplaced_ns']} ns in none"
    ] + [
        f"{count}{about and f' ({about})'}: {meaning}"
        for _, _, count, about, meaning in notes.itertuples(name=None)
    ]
