"""The answer to (e)."""

from math import prod
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.answers.ceilings import memory, memory_bound
from workflow_src.answers.drawn import over_context
from workflow_src.answers.facts import (
    captured,
    example,
    in_first,
    kernels,
    main,
    shown_of_all,
)
from workflow_src.answers.softmax.roles import ROLES, forward_operators, sizes, with_roles
from workflow_src.common.case import ATTENTIONS, COMPILED
from workflow_src.common.operators import PRODUCTS, SOFTMAX_FLOPS
from workflow_src.common.thresholds import MOSTLY
from workflow_src.paper.figures import Plot
from workflow_src.paper.number import NAN, Numbers, count, is_number, named, of, over, to
from workflow_src.paper.run import Quantities, Run, medians, wide
from workflow_src.paper.written import Facts

UNKNOWN = "softmax and attention's matrix products were not measured apart"


def facts(run: Run) -> Facts:
    """What the template says."""
    cases = attention(run)
    ok = cases[cases["state"] == "ok"]
    written_out = ok[ok["attention"] == "naive"]
    mine = ok if written_out.empty else written_out
    chosen = example(run, mine.index)
    bound = memory_bound(run, mine["rate"], mine["computes"])
    panels = over_context(ok, y="time", dashed={"the same of FLOPs": "flops"})
    longer = count(mine["time"], mine["time"] > 1, "softmax / (qk + av) > 1")
    opened = {
        "(e) softmax / (QKᵀ + AV): time": (mine["time"], "median"),
        "(e) softmax / (QKᵀ + AV): FLOPs": (mine["flops"], "median"),
    }
    return {
        **verdict(cases, mine, longer, of(bound, "count")),
        **shown_of_all(run, cases, ok, "time"),
        "longer": longer,
        "flops": of(to(mine["flops"], "share")),
        "memory": memory(run),
        "of_memory": of(mine["of_memory"], "median"),
        "summary": summary(run, mine, bound),
        "example": mine.loc[chosen] if chosen else None,
        "figure": Plot(panels, UNKNOWN, "softmax's time / (QKᵀ + AV)"),
        "opening": medians(mine, opened),
    }


def attention(run: Run) -> pd.DataFrame:
    """A row per case: ms of each role, ratios of time and FLOPs, bytes, rates, and `state`."""
    ranged, operators = with_roles(kernels(run, "forward")), forward_operators(run)
    apart = operators[~operators["case"].isin(ranged["case"])]
    parts = pd.concat([ranged, apart[apart["role"].isin(ROLES)]])
    ms = wide(over(parts, ["case", "role"], "ms"), run.cases.index, ROLES)
    state = states(run, ms, ranged, operators)
    ms = named(ms.where(state == "ok"))
    multiply = operators["operator"].isin(PRODUCTS) & (operators["family"] == "gemm")
    product_bytes, product_rate = moved(operators[multiply & operators["role"].isin(["qk", "av"])])
    softmax_bytes, rate = moved(operators[operators["role"] == "softmax"])
    work = flops(run, operators)
    return run.cases.join(ms).assign(
        state=state,
        products=ms["qk"] + ms["av"],
        time=ms["softmax"] / (ms["qk"] + ms["av"]),
        flops=work["softmax"] / work["products"],
        gb=softmax_bytes,
        rate=rate,
        product_gb=product_bytes,
        product_rate=product_rate,
        computes=to(work["softmax"] / ms["softmax"], "TFLOP/s"),
        of_memory=to(rate / memory(run), "share"),
    )


def states(run: Run, ms: pd.DataFrame, ranged: pd.DataFrame, operators: pd.DataFrame) -> pd.Series:
    """By case "ok" where softmax and both products took time apart, or a key of STATES."""
    cases, base = run.cases, captured(run, "forward")
    every, index = kernels(run, "forward"), run.cases.index
    with_fused = index.isin(every["case"][every["family"] == "attention"])
    either = index.isin(operators["case"][operators["role"] == "either"])
    timed = (ms[["softmax", "qk", "av"]].astype(float) > 0).all(axis=1)
    alike = either | ((cases["execution"] == COMPILED) & ~with_fused)
    found = pd.Series("no_attention", index, dtype=object).mask(with_fused, "fused")
    found = found.mask(alike, "not_told_apart").mask(index.isin(ranged["case"]), "not_measured")
    found = found.mask(timed & ~either, "ok").mask(cases["attention"] == "sdpa", "fused")
    return found.mask(base != "ok", base)


def flops(run: Run, operators: pd.DataFrame) -> pd.DataFrame:
    """By case the FLOPs of softmax and of both products, by formula or by operators' shapes.

    A call may have several kernels, of which each has a row.
    """
    flops = over(run["work"], ["case", "component"], "flops")
    work = wide(flops, columns=["softmax", "scores", "values"])
    work = work.assign(products=work["scores"] + work["values"])[["softmax", "products"]]
    rows = operators[operators["operator"].isin(PRODUCTS) & operators["role"].isin(["qk", "av"])]
    call = ["case", "role", "path", "operator", "shapes", "dtypes"]
    rows = rows.sort_values("calls_per_step", kind="stable").drop_duplicates(call, keep="last")
    factors = [sizes(text)[-2:] for text in rows["shapes"]]
    results = np.array([prod(a[:-1]) * b[-1] for a, b in factors]) * rows["calls_per_step"]
    twice = 2 * results * [a[-1] for a, _ in factors]
    rows = rows.assign(softmax=SOFTMAX_FLOPS * results, products=twice)
    product = wide(over(rows, ["case", "role"], "products", unit="flops"), columns=["qk", "av"])
    told = {
        "softmax": over(rows[rows["role"] == "qk"], "case", "softmax", unit="flops"),
        "products": product["qk"] + product["av"],
    }
    return named(work[work["softmax"].notna()].combine_first(pd.DataFrame(told, dtype=object)))


def moved(rows: pd.DataFrame) -> tuple[Numbers, Numbers]:
    """By case the GB that operators read and write, and the GB/s, if all bytes are known."""
    rows = rows[~rows["case"].isin(rows["case"][~(rows["bytes_per_step"] > 0)])]
    gb = over(rows, "case", "bytes_per_step", unit="bytes")
    rate = to(gb / over(rows, "case", "ms"), "GB/s")
    return to(gb, "GB"), rate


def verdict(cases: pd.DataFrame, mine: pd.DataFrame, longer: Any, bound: Any) -> Facts:
    """Which headline holds, and the precisions where softmax takes least and most of the products'
    time, with the medians there."""
    times = over(mine, "precision", "time", "median")
    ends = sorted(times.items(), key=lambda item: item[1]) or [("", NAN)]
    names = ("least_at", "least", "most_at", "most")
    found = dict(zip(names, (*ends[0], *ends[-1]), strict=True))
    own = not cases["attention"].isin(ATTENTIONS).any()
    looked = cases["state"].isin(["no_attention", "not_told_apart"]).any()
    verdicts = {
        "longer": longer >= MOSTLY * len(mine),
        "by precision": found["least"] < 1 < found["most"],
        "shorter": is_number(found["least"]),
        "fused": (cases["state"] == "fused").any(),
        "no attention": own and looked,
    }
    said = next((name for name, true in verdicts.items() if true), "can't tell")
    return {"verdict": said, "bound": bound >= len(mine) / 2} | found


def summary(run: Run, mine: pd.DataFrame, bound: Numbers) -> pd.DataFrame:
    """The table of medians."""
    first, base = "".join(run.precisions[:1]), in_first(run, mine)
    whole = over(kernels(run, "forward"), "case", "ms").reindex(mine.index)
    core = mine["softmax"] + mine["products"] + mine["around"]
    rows: Quantities = {
        "attention besides projections, of the pass": to(core / whole, "share"),
        "softmax's time / (QKᵀ + AV)": mine["time"],
        "the same of FLOPs": mine["flops"],
        "softmax reads and writes, GB": mine["gb"],
        "its rate, GB/s": mine["rate"],
        "its rate / memory's measured rate": mine["of_memory"],
        "softmax is memory-bound in": (bound, "count"),
        "QKᵀ + AV read and write, GB/s": mine["product_rate"],
        "mask, scale and copies / (QKᵀ + AV)": mine["around"] / mine["products"],
        f"softmax's time / that in {first}": mine["softmax"] / base["softmax"],
        f"QKᵀ + AV's time / that in {first}": mine["products"] / base["products"],
    }
    return medians(mine, rows)


if __name__ == "__main__":
    main("e", facts)
