"""Study mlp: how a step's time and device time grow with its FLOPs."""

import pandas as pd

from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.number import to
from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, sortable, span, unmeasured

BASE_DIM = 256
"""The width that others are held against."""


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = load(run, "mlp")
    sweep = widths(table[table["part"] == "sweep"])
    return growths(sweep) | {
        "layers": span(sweep["layers"]),
        "batch": span(sweep["batch"]),
        "sweep": sweep,
        "missing": unmeasured(table, "part", "dim"),
    }


def widths(sweep: pd.DataFrame) -> pd.DataFrame:
    """Steps by width: time, device time, its share of the step, and all over the base's."""
    found = sweep[sweep["dim"].notna()].sort_values("dim", key=sortable)
    ms, busy = found["median_ms"].where(found["ok"]), found["busy_ms"].where(found["ok"])
    found = found.assign(shown=or_state(found["time"], found), ms=ms, busy=busy)
    found["working"] = to(busy / ms, "share")
    return found.assign(**over(found, first(found[found["dim"] == BASE_DIM])))


def over(steps: pd.DataFrame | pd.Series, base: pd.Series) -> Facts:
    """FLOPs, time and device time over those of another step."""
    step = steps["ms"] / base["ms"]
    flops = (steps["dim"] / base["dim"]) ** 2
    return {"flops": flops, "step": step, "grown": steps["busy"] / base["busy"]}


def growths(sweep: pd.DataFrame) -> Facts:
    """From the narrowest width to the widest, and from the narrowest from which no GPU waits."""
    timed = sweep[sweep["ms"].notna()]
    waits = (timed["device"] != "cpu") & ~(timed["working"] >= WORKING_FULLY)
    there = timed[~waits[::-1].cummax()[::-1].astype(bool)]
    on_cpu = (timed["device"] == "cpu").any()
    grown = "on a CPU" if on_cpu else "grows" if not waits.any() else "from"
    grown = "waits" if len(there) < 2 else grown
    verdict = grown if len(timed) > 1 and timed["working"].notna().any() else "can't tell"
    return {"verdict": verdict, "all": growth(timed), "there": growth(there)}


def growth(steps: pd.DataFrame) -> Facts:
    """FLOPs and times of the widest of some steps over those of the narrowest."""
    low, high = first(steps), first(steps[::-1])
    return {"low": low["dim"], "high": high["dim"]} | over(high, low)
