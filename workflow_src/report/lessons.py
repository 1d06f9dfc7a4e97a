"""The lessons of a run."""

from typing import Any

import pandas as pd

from workflow_src.answers.ceilings import memory, memory_bound
from workflow_src.answers.facts import (
    PRODUCTS,
    disturbed,
    example,
    in_first,
    kernels,
    phase,
)
from workflow_src.answers.forward_time.chapter import times
from workflow_src.answers.gemm_share.chapter import changes
from workflow_src.answers.softmax.chapter import attention
from workflow_src.common.precisions import NARROW
from workflow_src.common.thresholds import MOSTLY
from workflow_src.paper.number import NAN, holds, of, over, to
from workflow_src.paper.run import Run, first, wide
from workflow_src.paper.written import Facts

NEARLY_HALF = 0.05
"""So near to a half, neither takes most."""


def pace(run: Run) -> Facts:
    """Who sets the pace of forward passes, by cases that nothing disturbed.

    `verdict`: "cpu"; "short", where passes wait at the shortest context and don't at the longest;
    "always", "never", "some"; or "can't tell".
    """
    cases = times(run)
    known = cases[cases["works"].notna() & ~disturbed(run)[cases.index]]
    gpu = known[known["device"] != "cpu"]
    waits = holds(gpu["works"], gpu["waits"], "device time / unprofiled < 90 %")
    waiting = known.index[known["waits"]]
    return {
        "verdict": "cpu" if (cases["device"] == "cpu").any() else waiting_where(gpu),
        "waiting": of(waits, "count"),
        "works": of(known["works"], "median"),
        "of_pass": first(known[known.index == example(run, waiting)]),
    }


def waiting_where(cases: pd.DataFrame) -> str:
    """Where forward passes wait for their launches."""
    if cases.empty:
        return "can't tell"
    waits = cases["waits"].astype(float)
    if waits.mean() in (0.0, 1.0):
        return "always" if waits.mean() else "never"
    context = pd.to_numeric(cases["context"], errors="coerce")
    share = waits.groupby(context).mean()
    if len(share) > 1 and share.iloc[0] >= MOSTLY and share.iloc[-1] <= 1 - MOSTLY:
        return "short"
    return "some"


def leads(run: Run) -> str:
    """What takes most of a forward pass's device time in the plainest precision and in the best:
    "products", "rest", "by precision"; "half", if in one it is nearly so; or ""."""
    found = phase(run, "forward")
    ends = [*run.precisions[:1], *run.precisions[-1:]]
    middle = [of(found["products"][found["precision"] == name], "median") for name in ends]
    known = [float(share) for share in middle if share == share]
    if not known:
        return ""
    if any(abs(share - 0.5) < NEARLY_HALF for share in known):
        return "half"
    if min(known) > 0.5:
        return "products"
    return "by precision" if known[0] > 0.5 else "rest"


def precision(run: Run) -> Facts:
    """How many times as fast products are in the best precision as in the plainest, and as long all
    else takes: medians over pairs that differ in it alone, and the `pair` of the longest pass."""
    high, low = "".join(run.precisions[:1]), "".join(run.precisions[-1:])
    rows = kernels(run, "forward")
    kind = rows["family"].isin(PRODUCTS).map({True: "products", False: "rest"})
    sums = over(rows.assign(kind=kind), ["case", "kind"], "ms")
    ms = wide(sums, run.cases.index, ["products", "rest"])
    label = run.cases["label"].str.removesuffix(f" in {high}").str.replace(f"-{high}", "")
    plain = phase(run, "forward")["unprofiled"]
    cases = run.cases.join(ms).assign(plain=plain, label=label)
    pairs = in_first(run, cases).join(ms.add_suffix("_best"))[cases["precision"] == low]
    longest = pairs.dropna().sort_values("plain", kind="stable")
    return {
        "high": high,
        "low": low,
        "casts": low in NARROW,
        "products": of(pairs["products"] / pairs["products_best"], "median"),
        "rest": of(pairs["rest_best"] / pairs["rest"], "median"),
        "pair": first(longest[::-1]),
    }


def bound_by_memory(run: Run) -> Facts:
    """Memory's best rate; of softmax and the optimizer, in how many cases memory `bounds` them,
    `where`, if in one precision alone, and the share of that rate that they have there."""
    made: dict[str, Any] = {"memory": memory(run)}
    for name, cases in (("softmax", attention(run)), ("optimizer", changes(run))):
        known = cases["rate"].where(~disturbed(run)[cases.index])
        holds_of = memory_bound(run, known, cases["computes"])
        bounds = of(holds_of, "count")
        there = bounds == bounds and bounds.value
        mine = (holds_of == 1).astype(bool)
        rates = to(cases["rate"] / made["memory"], "share")
        rate = of(rates[mine], "median") if there else NAN
        where = run.cases["precision"].reindex(cases.index[mine]).unique()
        only = f"all {where[0]}" if len(where) == 1 and len(run.precisions) > 1 else ""
        made[name] = {"rate": rate, "bounds": bounds, "all": (holds_of != 0).all(), "where": only}
    return made
