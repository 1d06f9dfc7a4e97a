"""What changed in the work of two runs' phases: kernels, and the parts of a profiled step."""

import re

import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.compare.change import beside, by_change, largest_first, work_kind
from workflow_src.compare.runs import PLACE, Measured
from workflow_src.paper.number import NAN, holds, over

BY_SHORT_NAME = [*PLACE, "short_name"]


def kernels(a: Measured, b: Measured, cases: pd.Index) -> pd.DataFrame:
    """The kernels of phases that appeared, vanished or changed, by whole name: short_name, kind,
    calls and ms a step of A and B, change_ms; largest change first."""
    ours, theirs = (_by_name(run, cases) for run in (a, b))
    both = beside(ours, theirs)
    phases = both.groupby(level=PLACE)
    both = both[phases["in_a"].transform("any") & phases["in_b"].transform("any")]
    whole = both["a_ms"].astype(float).groupby(level=PLACE).transform("sum")
    both = both.assign(kind=work_kind(both, whole))
    found = by_change(both[both["kind"] != ""].reset_index())
    every = pd.concat([run.tables["kernels"] for run in (a, b)]).drop_duplicates("name")
    short = found["name"].map(every.set_index("name")["short_name"])
    return found.assign(short_name=short.astype(object))


def _by_name(run: Measured, cases: pd.Index) -> pd.DataFrame:
    """Calls and ms a step."""
    rows = run.tables["kernels"]
    rows = rows[rows["case"].isin(cases) & (rows["phase"] != "")]
    steps = rows.groupby(PLACE)["steps"].transform("max")
    rows = rows.assign(calls=rows["calls"] / steps, ms=rows["busy_ns"] / steps / NS_PER_MS)
    units = {"calls": "calls", "ms": "ms"}
    found = {name: over(rows, [*PLACE, "name"], name, unit=unit) for name, unit in units.items()}
    return pd.DataFrame(found, dtype=object)


def by_short_name(kernels: pd.DataFrame) -> pd.DataFrame:
    """Kernels that changed, those of one phase and short name together; largest change first.

    kind: each way in which some of them changed.
    """
    groups = kernels.groupby(BY_SHORT_NAME, sort=False)
    kind = groups["kind"].agg(lambda kinds: " and ".join(dict.fromkeys(kinds)))
    found = pd.DataFrame({"kind": kind}, dtype=object)
    for name in ("a_calls", "b_calls", "a_ms", "b_ms", "change_ms"):
        found[name] = over(kernels, BY_SHORT_NAME, name).reindex(found.index)
    return largest_first(found, found["change_ms"]).reset_index()


def over_phases(kernels: pd.DataFrame) -> pd.DataFrame:
    """In how many phases a kernel changed, and its ms and change in these."""
    names = ("phases", "a_ms", "b_ms", "change_ms")
    counted = kernels.assign(
        phases=holds(kernels["change_ms"], kernels["kind"] != "", "it changed")
    )
    found = pd.DataFrame({name: over(counted, "short_name", name) for name in names}, dtype=object)
    return largest_first(found, found["change_ms"]).reset_index()


def step_changes(a: Measured, b: Measured, cases: pd.Index) -> pd.DataFrame:
    """By case and phase a_ms of a profiled step, change_ms, and the change of each part, which add
    up to it; largest change first. NaN where a step has no such part.

    Means, because they add up. Where one run has no causes of idle time (a CPU has none), idle time
    is one part. most: the largest change of the step or a part, as a share of A's step.
    """
    ours, theirs = (_steps(run, cases) for run in (a, b))
    both = beside(ours, theirs, "inner")
    names = [*map(str, ours)]
    causes = [c for c in names if re.fullmatch("idle_.+_ns", c) and ours[c].notna().any()]
    change = {c: both[f"b_{c}"].astype(object) - both[f"a_{c}"].astype(object) for c in names}
    found = pd.DataFrame(change, both.index, dtype=object)
    complete = found[causes].notna().all(axis=1) & bool(causes)
    for name in (*causes, "idle_ns"):
        found[name] = found[name].where(complete != (name == "idle_ns"), NAN)
    parts = found[["device_active_ns", *causes, "idle_ns"]].dropna(axis=1, how="all")
    parts = parts.rename(columns=lambda name: name.removesuffix("_ns").replace("_", " "))
    made = pd.DataFrame({"a_ms": both["a_wall_ns"], "change_ms": found["wall_ns"]}).join(parts)
    values = made.drop(columns="a_ms").astype(float).abs()
    made["most"] = values.max(axis=1) / made["a_ms"].astype(float)
    return largest_first(made, values["change_ms"])


def _steps(run: Measured, cases: pd.Index) -> pd.DataFrame:
    """Mean times of profiled steps, ms; NaN if a step lacks one."""
    rows = run.tables["ledger"]
    rows = rows[rows["case"].isin(cases)]
    columns = [str(c) for c in rows if str(c).endswith("_ns") and c != "busy_ns"]
    made = {}
    for column in columns:
        gaps = rows[column].isna().groupby([rows[n] for n in PLACE]).transform("any")
        known = rows[~gaps].assign(ms=rows[column] / NS_PER_MS)
        made[column] = over(known, PLACE, "ms", "mean", "ms")
    return pd.DataFrame(made, dtype=object)
