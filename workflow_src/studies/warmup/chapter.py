"""Study warmup: what first steps cost, how many an average must leave out, and why."""

import statistics
from collections.abc import Sequence

import numpy as np
import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.common.words import PHASES
from workflow_src.paper.number import Numbers, each, holds, of, over, to
from workflow_src.paper.run import Run, first, wide
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, span, unmeasured
from workflow_src.studies.study import Point, Row

MEAN_WITHIN = 0.05
"""A warm-up is enough if no mean then exceeds a settled step by more than this share. A mean that
is lower by more can't come from slow first steps."""

PLAIN, STARTED, LOADED = "as it is", "cuBLAS started", "and code loaded"
"""What processes of trials did before their first step."""


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = load(run, "warmup")
    phase = table["phase"].map(PHASES).fillna(table["phase"])
    table = table.assign(name=table["size"] + (", " + phase).where(phase != "", ""))
    runs = settling(table[table["sweep"] == ""])
    loading = table[table["ok"] & (table["sweep"] == "loading")]
    begun = loading["prepared"].map({True: STARTED, False: PLAIN})
    loading = loading.assign(kind=begun.where(loading["loading"] != "EAGER", LOADED))
    found = phases(runs)
    build = to(loading["build_ms"], "s")
    return needed(runs) | {
        "slowest": of(found["over"], "max"),
        **{name: span(runs[name]) for name in ("context", "batch", "samples")},
        "phases": found,
        "off": means(runs),
        "runs": runs,
        "trials": trials(loading),
        "started": span(build[loading["kind"] == STARTED]),
        "loaded": span(build[loading["kind"] == LOADED]),
        "missing": unmeasured(table[table["sweep"] != "traced"], "name"),
    }


def settling(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with how far their mean is above a settled step, and whether and when they settle."""
    known = runs["ok"] & runs["warmup_steps"].notna()
    excess = ((runs["mean_ms"] - runs["settled_ms"]) / runs["settled_ms"]).where(known)
    after = runs["settled_after_steps"]
    return runs.assign(
        excess=to(excess, "change"),
        settles=after.notna() & excess.notna(),
        until=after.where(after.notna() | ~runs["ok"], "not within the run"),
        first=or_state(runs["first_step_ms"], runs),
        steps=runs["warmup_steps"].astype(float),
    )


def needed(runs: pd.DataFrame) -> Facts:
    """The fewest warm-up steps from which on no settling run's mean is far above.

    worst: the run with the highest mean of those with fewer or, if none are enough, with the most.
    """
    known = runs[runs["settles"]]
    far = known["steps"][known["excess"] > MEAN_WITHIN].max()
    right = known[~(known["steps"] <= far)]
    enough = right["steps"].min()
    there = runs[runs["ok"] & runs["steps"].notna() & ~(runs["steps"] < enough)]
    less = known[known["steps"] < enough] if len(right) else known[known["steps"] == far]
    verdict = "enough" if len(right) else "not enough"
    if less.empty:
        verdict = "always" if len(right) else "can't tell"
    return {
        "verdict": verdict,
        "enough": of(to(right["warmup_steps"], "count"), "min"),
        "settled": of(holds(there["mean_ms"], there["settles"], "settles"), "count"),
        "means": span(there["excess"][there["settles"]]),
        "worst": first(less.sort_values("excess", ascending=False)),
    }


def phases(runs: pd.DataFrame) -> pd.DataFrame:
    """By size and phase medians over runs of one host, as one may be slower than another.

    after: the most steps until a run settled, marked where one never does.
    """
    ran = runs[runs["ok"]]
    many = ran.groupby(["name", "host_id"], sort=False).size().reset_index(name="runs")
    many = many.sort_values("runs", ascending=False, kind="stable").drop_duplicates("name")
    same = ran[ran["host_id"] == ran["name"].map(many.set_index("name")["host_id"])]
    begun, settled = (
        over(same, "name", name, "median") for name in ("first_step_ms", "settled_ms")
    )
    after = over(ran, "name", "settled_after_steps", "max")
    loose = after.index.isin(ran["name"][ran["settled_after_steps"].isna()])
    lost = runs[~runs["name"].isin(ran["name"])].drop_duplicates("name").set_index("name")["state"]
    found = {
        "first": pd.concat([begun, lost]),
        "settled": settled,
        "over": begun / settled,
        "after": marked(after, loose),
    }
    return pd.DataFrame(found, runs["name"].unique()).rename_axis("name").reset_index()


def means(runs: pd.DataFrame) -> pd.DataFrame:
    """How far means are off by size and phase, by steps left out: medians over runs that settle,
    marked where none does."""
    by, known = ["name", "steps"], runs[runs["excess"].notna()]
    settle = known.groupby(by)["settles"].transform("any").astype(bool)
    off = over(known[known["settles"] | ~settle], by, "excess", "median")
    found = wide(marked(off, ~off.index.isin(known[settle].set_index(by).index)))
    found = found.sort_index(axis=1).rename(columns="{:.0f}".format).rename_axis(columns=None)
    return found.rename_axis("size, phase").reset_index() if len(found) else found


def marked(cells: Numbers, loose: np.ndarray) -> pd.Series:
    """Cells with a mark where loose."""
    return cells.where(~loose, each(cells, lambda number: (number, " †")))


def trials(loading: pd.DataFrame) -> pd.DataFrame:
    """First steps by size, phase and kind, and what a kind saves of what they take longer.

    Nothing where processes of both kinds overlap or nearly do: where the least that was saved is
    under half of what medians say.
    """
    if loading.empty:
        return pd.DataFrame()
    by, first_step = ["name", "kind"], loading["first_step_ms"]
    rows = loading.assign(process=holds(first_step, first_step > 0, "a first step"))
    found = pd.DataFrame(
        {
            **{how: over(rows, by, "first_step_ms", how) for how in ("median", "min", "max")},
            "processes": over(rows, by, "process"),
            "settled": over(rows, by, "settled_ms", "median"),
            "build": over(rows, by, "build_ms", "median"),
        }
    ).rename_axis(by)
    names, kind = found.index.get_level_values("name"), found.index.get_level_values("kind")
    plain = found[kind == PLAIN].droplevel("kind").reindex(names).set_axis(found.index)
    saving, least = plain["median"] - found["median"], plain["min"] - found["max"]
    share = (saving / (plain["median"] - plain["settled"])).astype(object)
    told = to(share.where((least > 0) & (least >= saving / 2)), "share")
    return found.assign(saved=each(told, lambda number: ("≈ ", number))).reset_index()


SETTLED_WITHIN = 0.10
"""A settled step differs from the settled median by at most this share."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with the first step and the settled median (ms) of all steps, also of the warm-up;
    without captures of first steps, which points of earlier versions have."""
    kept = [row for row in rows if row.get("sweep") != "traced"]
    return [_derived(row) if row["status"] == "ok" else row for row in kept]


def _derived(row: Row) -> Row:
    is_trial = "steps_ns" in row
    every = row["steps_ns"] if is_trial else [*row["warmup_ns"], *row["samples_ns"]]
    steps = [ns / NS_PER_MS for ns in every]
    found = {"first_step_ms": steps[0], "settled_ms": settled_median(steps)}
    if is_trial:
        return row | found | {"build_ms": row["build_ns"] / NS_PER_MS}
    return row | found | {"settled_after_steps": settled_after(steps)}


def settled_median(values: Sequence[float]) -> float:
    """The median of the last half of `values`."""
    return statistics.median(values[len(values) // 2 :])


def settled_after(values: Sequence[float]) -> int | None:
    """Steps after which all others lie within SETTLED_WITHIN of the settled median; None if even
    the last one does not."""
    settled = settled_median(values)
    apart = [i for i, value in enumerate(values) if abs(value - settled) > SETTLED_WITHIN * settled]
    steps = apart[-1] + 1 if apart else 0
    return steps if steps < len(values) else None
