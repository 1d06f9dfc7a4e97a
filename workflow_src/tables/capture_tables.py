"""The tables of any capture: its device time by path, kernel and family, and its diagnosis."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import NOTES, UNKNOWN
from workflow_src.common.errors import TraceError
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.table_schema import tables_in
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.paths import OF_WORK, path_totals
from workflow_src.placing.placing import NO_CALL, NO_RANGE, WHOLE
from workflow_src.placing.steps import InSteps, steps
from workflow_src.tables.certificate import certificate
from workflow_src.tables.diagnosis_tables import diagnosis_tables

TABLES = tables_in("capture")
BUSY = ["activities", "busy_ns"]
IN_STEPS = ["activities_in_steps", "busy_ns_in_steps"]

KERNELS = ["process", "path", "kind", "family", "name", "short_name", *BUSY]
"""Columns of kernels; of work without a path, `path` is the reason in brackets."""


def tables_of(found: Attributed, plain_ns: float | None = None) -> dict[str, pd.DataFrame]:
    """All tables by name; may raise TraceError as placed_tables."""
    return placed_tables(found) | diagnosis_tables(found, plain_ns)


def placed_tables(found: Attributed) -> dict[str, pd.DataFrame]:
    """The tables of where device time is, by name.

    Raises TraceError if they don't account for all device time.
    """
    in_steps = InSteps.of(found.work, found.placed.ranges, found.steps.is_step)
    sums = _sums(found, in_steps)
    totals = path_totals(found.placed.ranges, found.work, found.paths)
    nowhere, total_ns = sums["path"] == NOWHERE, found.capture.total_ns
    placed_ns, unplaced_ns = (int(sums.loc[some, "busy_ns"].sum()) for some in (~nowhere, nowhere))
    if placed_ns + unplaced_ns != total_ns or int(totals["own_ns"].sum()) != placed_ns:
        raise TraceError(
            f"{placed_ns} ns in ranges and {unplaced_ns} ns outside are not the {total_ns} ns of "
            "the capture: this is a defect of the reader, please report it with the file"
        )
    launched = sums[~nowhere].reset_index(drop=True)
    return {
        "paths": _paths_table(found, totals, in_steps),
        "kernels": _kernels(sums, in_steps),
        "steps": steps(found),
        "summary": summary(found, in_steps.steps),
        "notes": pd.DataFrame(
            [(note.code, note.count, note.about, NOTES[note.code]) for note in found.notes],
            columns=["note", "count", "about", "meaning"],
        ),
        "certificate": certificate(found, in_steps, launched),
    }


def _paths_table(found: Attributed, totals: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    inside = totals
    if len(in_steps.steps) and not (in_steps.work.all() and in_steps.ranges.all()):
        counted = replace(found.paths, of_range=found.paths.of_range[in_steps.ranges])
        ranges = found.placed.ranges[in_steps.ranges]
        inside = path_totals(ranges, found.work.loc[in_steps.work, [*OF_WORK]], counted)
    per_step = _in_ms(inside, found)[["instances", "busy_ms", "own_ms", "backward_ms"]]
    table = in_steps.added(totals[["process", "path"]].join(_in_ms(totals, found)), per_step)
    return table.sort_values(["process", "path"], ignore_index=True)


def _in_ms(totals: pd.DataFrame, found: Attributed) -> pd.DataFrame:
    times = ("host", "busy", "own", "wait", "backward")
    table = totals[["instances"]].assign(
        **{f"{n}_ms": totals[f"{n}_ns"] / NS_PER_MS for n in times}
    )
    if found.capture.kernels_lost:
        table[[*table][2:]] = np.nan
    if not (found.work["made_in"] >= 0).any():
        table["backward_ms"] = np.nan
    return table if found.waits_known else table.assign(wait_ms=np.nan)


def _sums(found: Attributed, in_steps: InSteps) -> pd.DataFrame:
    """A row per kind and name of what was launched in an innermost path, or is in none.

    path: its number, or NOWHERE; text: the path, or in brackets why it has none.
    """
    keys, mine = ["process", "path", "named", "no_call"], in_steps.work
    nowhere = found.work["path"] == NOWHERE
    no_call = nowhere & (found.work["launch_ns"] == UNKNOWN)
    rows = found.work[[*keys[:-1], "duration_ns"]].assign(mine=mine, no_call=no_call)
    rows["mine_ns"] = rows["duration_ns"] if mine.all() else rows["duration_ns"].where(mine, 0)
    sums = rows.groupby(keys).agg(
        activities=("mine", "size"),
        busy_ns=("duration_ns", "sum"),
        activities_in_steps=("mine", "sum"),
        busy_ns_in_steps=("mine_ns", "sum"),
    )
    sums = sums.reset_index().join(found.names, on="named")
    text = np.append(found.paths.text, f"({NO_RANGE})")[sums["path"].to_numpy()]
    return sums.assign(text=np.where(sums["no_call"], f"({NO_CALL})", text))


def _kernels(sums: pd.DataFrame, in_steps: InSteps) -> pd.DataFrame:
    order = ["nowhere", "process", "path", "busy_ns", "kind", "family", "name"]
    rows = sums.assign(nowhere=sums["path"] == NOWHERE, path=sums["text"])
    ascending = [name != "busy_ns" for name in order]
    rows = rows.sort_values(order, ascending=ascending, ignore_index=True)
    return in_steps.added(rows[KERNELS], rows[IN_STEPS].set_axis(BUSY, axis=1))


def summary(found: Attributed, step_counts: "pd.Series[int]") -> pd.DataFrame:
    """A row per process, also of those without device work, and one for all."""
    work, ranges, by = found.work, found.placed.ranges, found.capture.recording
    of_process, ns = work["process"], work["duration_ns"]
    ranges = ranges[(ranges["name"] != WHOLE) | (ranges["thread"] != NOWHERE)]
    of_work = {
        "total_ns": ns,
        "placed_ns": ns.where(work["path"] != NOWHERE, 0),
        "backward_ns": ns.where(work["made_in"] != NOWHERE, 0),
        "backward_placed_ns": ns.where(work["made_in"] >= 0, 0),
    }
    counts = {
        "ranges": ranges["process"].value_counts(),
        "activities": of_process.value_counts(),
        **{name: part.groupby(of_process).sum() for name, part in of_work.items()},
        "steps": step_counts,
    }
    processes = found.capture.processes
    whole = {name: each.reindex(processes, fill_value=0) for name, each in counts.items()}
    table = pd.DataFrame(whole).astype("int64")
    table = pd.concat([table, table.sum().to_frame().T], ignore_index=True)
    table.insert(0, "process", [*map(str, processes), "all"])
    return table.assign(
        profiler=by.profiler,
        version=by.version,
        card=by.card.name if by.card else "",
        driver=by.card.driver if by.card else "",
        steps_by=found.steps.rule.value,
    )
