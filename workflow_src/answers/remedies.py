"""What each remedy for a slow training step could save at most, from a case's tables alone."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.answers import kernel_words
from workflow_src.answers.component_shares import besides, does, ms_of
from workflow_src.answers.evidence import Row, row_numbers, under

ATTENTION = "train_step/forward/block/attention"


TRIED = "tried by the study levers (studies: [levers])"
"""How to try what no case of a suite can be."""


@dataclass(frozen=True)
class Remedy:
    """What a remedy removes, in a word and in a table, and how to try it (if other, on a CPU)."""

    short: str
    removes: str
    how: str
    how_on_cpu: str = ""


REMEDIES = {
    "idle": Remedy(
        "idle",
        "time in which the device is idle",
        f"fewer launches: a CUDA graph or torch.compile, {TRIED}",
        f"fewer operators: torch.compile, {TRIED}",
    ),
    "optimizer": Remedy(
        "optimizer",
        "the optimizer's device time",
        "foreach or fused among a suite's optimizers in config.yaml",
    ),
    "casts": Remedy(
        "casts",
        "casts between float32 and the lower precision",
        f"weights kept in the lower precision for theirs, sdpa for those in attention, {TRIED}",
    ),
    "attention": Remedy(
        "attention",
        "softmax, mask, scaling and copies in attention, forward only",
        "fused_softmax or sdpa among a suite's attentions in config.yaml",
    ),
}
"""By key, in the order of the report's table."""

REPLAY = Remedy(
    "replay",
    "launches of forward + backward by itself, measured",
    "a CUDA graph, replayed in the benchmark",
)
"""What was measured to save idle time, where a phase was replayed."""


def unprofiled(timed: pd.DataFrame) -> Row:
    """Times of a phase that was timed, given its rows of timings.csv; else nothing.

    least_ms, most_ms: the medians of the fastest and slowest process; of one process, the 20th and
    80th percentile of its samples.
    """
    done = timed[timed["status"] == "ok"]
    if done.empty or not float(done["median_ms"].iloc[0]) > 0:
        return {}
    several = "processes" in done and float(done["processes"].iloc[0]) > 1
    ends = ("fastest_ms", "slowest_ms") if several else ("p20_ms", "p80_ms")
    names = {key: key for key in ("median_ms", "p20_ms", "p80_ms")}
    names |= {"least_ms": ends[0], "most_ms": ends[1]}
    times = {key: float(done[name].iloc[0]) for key, name in names.items()}
    return times | {"evidence": row_numbers(done)}


def savings(case: Row, median_ms: float, steps: pd.DataFrame, kernels: pd.DataFrame) -> Row:
    """Upper bounds in ms per training step, by remedy, with the rows that they come from.

    `steps` are the step's own rows of ranges.csv, `kernels` its rows of kernels.csv. idle is what
    remains of the unprofiled median beside the device's work. A remedy that the case uses already,
    or that has nothing to remove, isn't listed.
    """
    busy = float(steps["busy_ms"].median()) if len(steps) else ms_of(kernels)
    idle = {"ms": max(0.0, median_ms - busy), "busy_ms": busy, "evidence": row_numbers(steps)}
    found = {"optimizer": _optimizer(case, kernels), "casts": _casts(case, kernels)}
    found["attention"] = _attention(case, kernels)
    there = {
        key: {"ms": ms_of(rows), "evidence": row_numbers(rows)}
        for key, rows in found.items()
        if len(rows)
    }
    return {"idle": idle} | there


def _optimizer(case: Row, kernels: pd.DataFrame) -> pd.DataFrame:
    mine = kernels[under(kernels["path"], "train_step/optimizer")]
    return mine if case["optimizer"] != "fused" else mine.iloc[:0]


def _casts(case: Row, kernels: pd.DataFrame) -> pd.DataFrame:
    if case["precision"] not in ("bf16", "fp16"):
        return kernels.iloc[:0]
    return kernels[does(kernels).isin(kernel_words.CASTS)]


def _attention(case: Row, kernels: pd.DataFrame) -> pd.DataFrame:
    """Casts are left out, because they are counted by themselves."""
    if case["attention"] == "sdpa":
        return kernels.iloc[:0]
    inside = under(kernels["path"], f"{ATTENTION}/softmax")
    for product in ("scores", "values"):
        inside |= under(kernels["path"], f"{ATTENTION}/{product}")
    rest = besides(kernels[inside])
    cast = does(rest).isin(kernel_words.CASTS)
    return rest[~cast] if case["precision"] in ("bf16", "fp16") else rest
