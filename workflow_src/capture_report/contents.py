"""What a capture's tables say a step does, as frames of Numbers: of its parts, work, calls, gaps.

A frame has at most PAGE rows, those of the most time, in the order of their table.
"""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
from markupsafe import escape

from workflow_src.capture_report.capture import PAGE, Capture, in_ms, in_steps, most_first, share
from workflow_src.paper.cells import Both
from workflow_src.paper.markdown import escape as escape_markdown
from workflow_src.paper.number import NAN, Number, each, over, to
from workflow_src.paper.run import down_to, lifted, ordered, tree_order
from workflow_src.paper.written import Facts
from workflow_src.placing.ledger import CAUSES
from workflow_src.placing.placing import is_unplaced

LARGEST = 4
"""So many rows of a step's work are shown of each process, then one of the rest."""

MANY = 10_000
"""Sums of a longer table name only the first of their lines: a page has no room for all."""

PARTS = {
    "wall_ns": "whole step",
    "device_active_ns": "a device works",
    **{f"idle_{cause}_ns": f"idle: {cause}" for cause in CAUSES},
    "idle_ns": "idle",
}
"""Parts of a step by their column; the last only where causes are missing."""

PER_STEP = ("activities_per_step", "busy_ns_per_step")


def tables(capture: Capture) -> dict[str, pd.DataFrame]:
    """By their names in the template."""
    known = capture.diagnoses
    idle = capture.rows("idle_causes")
    plain = known["step_ms"].where(known["plain"], NAN)
    return {
        "diagnoses": known.assign(
            step_ms=plain, process=known["process"] if len(known) > 1 else "ms"
        ),
        "step_work": contents(capture, "step_work", "family", "calls", "device_ms", "share"),
        "step_calls": contents(
            capture, "step_calls", "what", "calls", "host_ms", "blocked_ms", "share"
        ),
        "steps": steps(capture),
        "paths": paths(capture),
        "ranks": ranks(capture),
        "kernels": kernels(capture),
        "families": families(capture),
        "lost_work": lost(capture),
        "doubted": doubted(capture),
        "notes": capture.rows("notes"),
        "idle_causes": idle.assign(times=idle["times"].map(in_steps)),
    }


def steps(capture: Capture) -> pd.DataFrame:
    """A row per part of a step's time, of each path of a process: median, least, most, and the
    share of the time of all steps."""
    rows = capture["steps"]
    keys = ["process", "path"]
    number = over(rows.assign(steps=1.0), keys, "steps", unit="count")
    whole = over(rows, keys, "wall_ns")
    found = []
    unknown = rows["idle_launch_ns"].isna().groupby([rows[key] for key in keys]).transform("any")
    for place, (column, part) in enumerate(PARTS.items()):
        mine = rows[unknown] if column == "idle_ns" else rows
        made = {how: over(mine, keys, column, how) for how in ("median", "min", "max", "sum")}
        frame = pd.DataFrame(made, dtype=object)
        frame = frame[frame["max"].astype(float) > 0]
        frame["share"] = to(frame.pop("sum") / whole.reindex(frame.index), "share")
        frame[["median", "min", "max"]] = frame[["median", "min", "max"]].apply(to, unit="ms")
        found.append(frame.assign(part=part, place=place, steps=number.reindex(frame.index)))
    every = pd.concat(found).reset_index().sort_values([*keys, "place"], kind="stable")
    return capture.of_process(every)


def paths(capture: Capture) -> pd.DataFrame:
    """Range paths with their share of all device time, as a tree; what takes most comes first."""
    rows = capture.rows("paths", "busy_ms")
    nodes = [(str(process), str(path)) for process, path in rows[["process", "path"]].to_numpy()]
    order = tree_order(nodes, rows["busy_ms"].astype(float).fillna(0.0))
    down = [down_to(path) for _, path in nodes]
    names = [
        Both(escape_markdown(here[-1]), str(escape(here[-1].removeprefix(f"{here[-2]}/"))))
        if here[1:]
        else here[0]
        for here in down
    ]
    made = {"path": names, "level": [str(len(here) - 1) for here in down]}
    found = rows.assign(
        **{name: pd.Series(cells, rows.index, dtype=object) for name, cells in made.items()},
        share=to(rows["busy_ms"] / capture.known_total, "share"),
    ).iloc[order]
    for name in rows.columns.intersection(["backward_ms", "backward_ms_per_step"]):
        found[name] = found[name].where(found[name].astype(float) > 0, NAN)
    per_step = [name for name in rows if str(name).endswith("_per_step")]
    return found if capture.stepped else found.drop(columns=per_step)


def backward(capture: Capture) -> Facts:
    """Device time of backward, and the share of it that has a range of forward, if known."""
    ns, placed = capture.every.reindex(["backward_ns", "backward_placed_ns"])
    return {"ms": in_ms(ns), "share": share(placed, ns)}


def ranks(capture: Capture) -> pd.DataFrame:
    """Paths that several processes share: their work without waiting in collectives, if known."""
    rows = capture["paths"]
    size = rows.groupby("path", sort=False)["busy_ms"].agg(["sum", "size"])
    shared = size[size["size"] > 1]["sum"].rank(method="first", ascending=False)
    rows = rows[rows["path"].isin(shared[shared <= PAGE].index)]
    rows = rows.assign(work=rows["busy_ms"] - rows["wait_ms"].fillna(0), processes=1.0)
    made = {how: over(rows, "path", "work", how, unit="ms") for how in ("median", "max")}
    made["processes"] = over(rows, "path", "processes", unit="count")
    found = pd.DataFrame(made, dtype=object)
    waits = over(rows, "path", "wait_ms", "max").reindex(found.index).astype(object)
    found["times"] = each(found["max"] / found["median"], lambda n: replace(n, digits=4))
    return found.assign(
        waits=waits,
        slowest=_most(rows, "work").reindex(found.index),
        waits_longest=_most(rows, "wait_ms").reindex(found.index),
    ).reset_index()


def _most(rows: pd.DataFrame, column: str) -> pd.Series:
    """By path the process with the most of a column, where that is above 0."""
    some = rows[rows[column] > 0]
    return rows.loc[some.groupby("path")[column].idxmax()].set_index("path")["process"]


def kernels(capture: Capture) -> pd.DataFrame:
    """What ran, by name over all paths of a process, most time first, and where most of it."""
    rows = _work(capture)
    keys = ["process", "name"]
    sums = rows.groupby(keys)["busy_ns"].sum().sort_values(ascending=False, kind="stable")[:PAGE]
    rows = rows[pd.MultiIndex.from_frame(rows[keys]).isin(sums.index)]
    found = _summed(capture, rows, keys, whole=False).reindex(sums.index)
    most = rows.loc[rows.groupby(keys)["busy_ns"].idxmax()].set_index(keys)
    found = found.join(most[["short_name", "family", "path"]])
    return capture.of_process(found.reset_index())


def families(capture: Capture) -> pd.DataFrame:
    """What the work does, over all processes, most time first."""
    return most_first(_summed(capture, _work(capture), ["family"]), "ms").reset_index()


def lost(capture: Capture) -> pd.DataFrame:
    """Work without a path, by the reason for that."""
    rows = _work(capture)
    rows = rows[is_unplaced(rows["path"])]
    found = _summed(capture, rows.assign(path=rows["path"].str.strip("()")), ["path"])
    return found.sort_index().reset_index()


def _work(capture: Capture) -> pd.DataFrame:
    """Kernels, with all columns also if the table is empty."""
    rows = capture["kernels"]
    return rows.reindex(columns=list(dict.fromkeys([*rows, *PER_STEP])))


def _summed(
    capture: Capture, rows: pd.DataFrame, by: Sequence[str], whole: bool = True
) -> pd.DataFrame:
    """Calls and time of groups of kernels, in all and, as far as they lie in steps, a step.

    whole: of a step of any process, else of its own.
    """
    steps = float(capture.every["steps"]) if capture.stepped else NAN
    part = rows["steps"] / (steps if whole else rows["steps"].where(rows["steps"] > 0))
    rows = rows.assign(**{name: rows[name].fillna(0) * part for name in PER_STEP})
    if len(rows) > MANY:
        sums = rows.groupby([*by], sort=False)[["activities", "busy_ns", *PER_STEP]]
        rows = sums.sum(min_count=1).set_axis(rows.drop_duplicates(by).index).join(rows[[*by]])
    calls, ns = (over(rows, by, name, unit=u) for name, u in zip(PER_STEP, ("", "ns"), strict=True))
    ms = over(rows, by, "busy_ns")
    made = {
        "activities": over(rows, by, "activities"),
        "ms": to(ms, "ms"),
        "share": to(to(ms, "ms") / capture.known_total, "share"),
        "calls_per_step": calls,
        "ms_per_step": to(ns, "ms"),
    }
    return pd.DataFrame(made, dtype=object).reindex(ms.index)


def contents(capture: Capture, table: str, *amounts: str) -> pd.DataFrame:
    """The largest rows of step_work or step_calls of each process, and the sum of the others.

    amounts: the column that names a row, then those of its numbers.
    """
    rows = most_first(capture[table], "share")
    large = rows.groupby("process").cumcount() < LARGEST
    rest = rows[~large]
    sums = {name: over(rest, "process", name) for name in amounts[1:]}
    summed = pd.DataFrame(sums, dtype=object).rename_axis("process").reset_index()
    summed[amounts[0]] = "all the rest"
    found = pd.concat([lifted(rows[large]).reset_index(drop=True), summed])
    return capture.of_process(ordered(found, "process", capture[table]["process"]))


def doubted(capture: Capture) -> pd.DataFrame:
    """Checks that a capture doesn't pass, with their numbers."""
    rows = capture["certificate"]
    rows = rows[rows["verdict"] == "doubt"]
    numbers = pd.to_numeric(rows["value"].where(rows["unit"] != ""), errors="coerce")
    cells = zip(rows.index, numbers, rows["unit"], rows["value"], strict=True)
    made: list[object] = [
        Number(value, unit, frozenset([row]), "value") if value == value else text
        for row, value, unit, text in cells
    ]
    return rows.assign(value=pd.Series(made, rows.index, dtype=object))
