"""Study precision: what a 16-bit type costs in accuracy, and what autocast gains in time."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.common import words
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.figures import Panel, Plot
from workflow_src.paper.number import each, holds, of, over, to, within
from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, span, unmeasured
from workflow_src.studies.study import Point, Row

AUTOCAST = "bf16"
"""The precision whose speed-up over each other one is told."""

SAME_WITHIN = 0.02
"""A speed-up that differs from 1 by at most this is neither a gain nor a loss."""

MEASUREMENTS = words.PHASES | {"scores": "attention scores alone"}
"""All but the last are of a model."""

KEY = ["size", "measurement"]


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = load(run, "precision")
    table = table.assign(measured=table["measurement"].map(MEASUREMENTS).fillna(""))
    speed, ran = table[table["part"] == "speed"], table[table["ok"]]
    pairs = paired(speed[speed["ok"]])
    models = pairs[pairs["measurement"] != "scores"]
    sums = ran[ran["part"] == "accumulation"]
    return compared(models) | {
        **{name: span(models[name]) for name in ("context", "batch", "samples")},
        "speedups": speedups(models),
        "sums": sums.assign(value=each(sums["value"], lambda sum_: replace(sum_, digits=5))),
        "norms": ran[ran["part"] == "layer_norm"],
        "types": ran[ran["part"] == "dtypes"],
        "timings": timings(speed, pairs),
        "missing": unmeasured(table, "size", "measured", "precision", "variant"),
        "figure": figure(pairs),
    }


def paired(timed: pd.DataFrame) -> pd.DataFrame:
    """Each timing in full precision beside the same under autocast (columns ending in _cast).

    waits: a GPU isn't known to work for WORKING_FULLY of the step under autocast; then samples of
    one process don't decide: processes differ by more. alike: neither a gain nor a loss, as the
    samples overlap, or by SAME_WITHIN. printed: the speed-up with the digits that samples earn.
    """
    timed = timed[timed["measured"] != ""]
    cast = timed[timed["precision"] == AUTOCAST].drop_duplicates(KEY)
    found = timed[timed["precision"] != AUTOCAST].merge(cast, on=KEY, suffixes=("", "_cast"))
    speedup = (found["median_ms"] / found["median_ms_cast"]).astype(object)
    found = found.assign(speedup=speedup)[speedup.notna()]
    low, high, least, most = (
        found[f"{name}_ms{of}"].astype(object) for of in ("", "_cast") for name in ("p20", "p80")
    )
    on_cpu = found["device"] == "cpu"
    works = to((found["busy_ms_cast"] / found["median_ms_cast"]).where(~on_cpu), "share")
    waits = ~on_cpu & ~(works >= WORKING_FULLY)
    overlap = (low <= most) & (high >= least)
    same = (found["speedup"] >= 1 - SAME_WITHIN) & (found["speedup"] <= 1 + SAME_WITHIN)
    earned = within(found["speedup"], low / most, high / least)
    printed = found["speedup"].where(waits, earned)
    return found.assign(works=works, waits=waits, alike=overlap | same, printed=printed)


def compared(models: pd.DataFrame) -> Facts:
    """The verdict and its numbers: only those count where the device works for enough of it.

    counts: over each full precision, in how many autocast gains, loses, and isn't decided.
    """
    speedup, decided = models["speedup"], models[~models["waits"]]
    clear = ~models["waits"] & ~models["alike"]
    found = {
        "gains": holds(speedup, clear & (speedup > 1), "a gain"),
        "losses": holds(speedup, clear & (speedup < 1), "a loss"),
        "undecided": holds(speedup, models["waits"], "busy_ms / median_ms isn't known to be 90 %"),
    }
    rows = models.assign(**found)
    counts = pd.DataFrame({name: over(rows, "precision", name, "count") for name in found})
    if decided.empty:
        verdict = "can't tell" if models.empty else "waits"
    else:
        verdict = "gains" if (found["gains"] > 0).any() else "no gain"
    return {
        "verdict": verdict,
        "best": first(decided.sort_values("speedup", ascending=False)),
        "counts": counts.rename_axis("over").reset_index(),
        "undecided": of(found["undecided"], "count"),
    }


def speedups(models: pd.DataFrame) -> pd.DataFrame:
    """By size autocast's speed-up over each precision, and how much of its step is work."""
    mark = models["alike"].map({True: " ≈", False: ""}).where(~models["waits"], " †")
    heading = models["measured"].astype(object) + ": over " + models["precision"].astype(object)
    cells = pd.Series(list(zip(models["printed"], mark, strict=True)), models.index, dtype=object)
    mine = models.assign(heading=heading, cell=cells)
    works = models.drop_duplicates(KEY)
    works = works.assign(
        heading=works["measured"].astype(object) + ": device works", cell=works["works"]
    )
    every = pd.concat([mine, works])
    every = every.drop_duplicates(["size", "heading"]).sort_values("measured", kind="stable")
    found = every.pivot(index="size", columns="heading", values="cell")
    found = found.reindex(models["size"].unique(), columns=every["heading"].unique())
    return found.rename_axis("size").reset_index()


def timings(speed: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Every timing, with autocast's speed-up over it."""
    key = [*KEY, "precision"]
    printed = pairs[[*key, "printed"]].drop_duplicates(key)
    found = speed.merge(printed, how="left", on=key)
    working = to(found["busy_ms"] / found["median_ms"], "share")
    return found.assign(ms=or_state(found["time"], found), working=working)


def figure(pairs: pd.DataFrame) -> Plot:
    """By measurement and size bf16's speed-up over each full precision."""
    panels = [
        Panel(
            mine,
            x="size",
            y="speedup",
            by="precision",
            mark="bar",
            hatched="waits",
            label="over {}",
            title=str(measured),
            levels={"no change": 1},
        )
        for measured, mine in pairs.groupby("measured", sort=False)
    ]
    empty = "no size was measured in two precisions"
    return Plot(panels, empty, "speed-up of bf16 autocast", (3.7, 3.2))


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows, of which sums have their errors."""
    return [
        row | errors(row, point["addend"], point["additions"])
        if row["part"] == "accumulation"
        else row
        for row in rows
    ]


def errors(row: Row, addend: float, additions: int) -> Row:
    """The error of a sum against additions x addend, in its two parts, all exact in double
    precision."""
    value, exact, stored = row["value"], additions * addend, additions * row["addend"]
    eps = float(np.finfo(row["sum_dtype"]).eps)
    return {
        "error": value - exact,
        "representation_error": stored - exact,
        "rounding_error": value - stored,
        "spacing": eps * 2.0 ** math.floor(math.log2(value)),
    }
