"""Study matmul: the rate of each product, and what sizes of unaligned rows lose."""

from dataclasses import replace

import pandas as pd

from workflow_src.common.datasheets import peak_tflop_per_s
from workflow_src.common.thresholds import WAITS_BELOW
from workflow_src.paper.figures import Panel, Plot
from workflow_src.paper.number import NAN, Number, each, holds, of, to, within
from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Facts
from workflow_src.placing.kernel_words import built_for
from workflow_src.studies.facts import load, or_state, unmeasured
from workflow_src.studies.study import Point, Row

ITEM_BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp8": 1}

ROW_BYTES = 16
"""Rows of so many bytes, or a multiple, can be read in the widest loads."""

DROP = 0.05
"""A rate that is lower by at least this share counts as lower: equal products differ by as much."""

YLABEL, DIVIDES = "TFLOP/s (of the median time)", "by what divides n"


def facts(run: Run) -> Facts:
    """What the study's table says."""
    every = products(load(run, "matmul"))
    known = every[every["rate"].notna()]
    sized, fine = (known[known["sweep"] == name] for name in ("sizes", "divisibility"))
    found, best = alignment(fine), bests(sized)
    tops = best.set_index("precision")["rate"]
    fastest = first(every.sort_values("rate", key=lambda c: -c.astype(float).fillna(0)))
    return found | {
        "verdict": found["verdict"] if fastest["rate"] == fastest["rate"] else "can't tell",
        "fastest": fastest,
        "waits": sized["waits"].any(),
        "rates": rates(every[every["sweep"] == "sizes"]),
        "best": best,
        "sizes": sized.assign(of_best=to(sized["rate"] / sized["precision"].map(tops), "share")),
        "divisors": by_divisor(fine),
        "missing": unmeasured(every, "precision", "sweep", "n"),
        "figure": figure(sized, fine),
    }


def products(table: pd.DataFrame) -> pd.DataFrame:
    """The products by precision and size, with `rate` (TFLOP/s) and `marked`, where they waited.

    The rate's ends are those of the 80th and the 20th percentile of times.
    """
    rows = table[table["precision"].isin(ITEM_BYTES)]
    order = rows["precision"].map([*ITEM_BYTES].index)
    rows = rows.assign(order=order.astype(float), size=rows["n"].astype(float))
    rows = rows.sort_values(["order", "size"], kind="stable")
    rate, ms = rows["tflops"].where(rows["ok"] & rows["n"].notna()), rows["median_ms"]
    rate = within(rate, rate * (ms / rows["p80_ms"]), rate * (ms / rows["p20_ms"]))
    busy = rows["busy_ms"].where(rows["ok"])
    waits = (rows["gpu"] != "") & (busy / ms < WAITS_BELOW)
    marked = rate.where(~waits, each(rate, lambda number: (number, " †")))
    return rows.assign(rate=rate, marked=marked, busy=busy, waits=waits)


def rates(mine: pd.DataFrame) -> pd.DataFrame:
    """Rates by size, or why there is none; a skipped precision has no sizes."""
    cells = mine.assign(cell=or_state(mine["marked"], mine))
    known = cells[cells["n"].notna()].drop_duplicates(["size", "precision"], keep="last")
    found = known.pivot(index="size", columns="precision", values="cell")
    found = found.reindex(columns=mine["precision"].unique()).astype(object)
    skipped = mine[mine["n"].isna()].drop_duplicates("precision").set_index("precision")["state"]
    for name in skipped.index:
        found[name] = found[name].fillna(skipped[name])
    n = [Number(size, "whole") for size in found.index]
    found.insert(0, "n", pd.Series(n, found.index, dtype=object))
    return found.rename_axis(columns=None)


def bests(sized: pd.DataFrame) -> pd.DataFrame:
    """By precision the best rate, beside the datasheet's, and from which n on all reach half."""
    top = sized["rate"].astype(float).groupby(sized["precision"], sort=False)
    best = sized.loc[top.idxmax()]
    slow = sized[sized["rate"].astype(float) < top.transform("max") / 2]
    after = sized["precision"].map(slow.groupby("precision")["size"].max())
    half = sized[~(sized["size"] <= after)].drop_duplicates("precision").set_index("precision")["n"]
    pairs = zip(best["gpu"], best["precision"], best["rate"], strict=True)
    sheet: list[object] = [
        Number(peak, "TFLOP/s", rate.rows, "datasheet") if peak else NAN
        for gpu, name, rate in pairs
        for peak in [peak_tflop_per_s(gpu, name)]
    ]
    sheets = pd.Series(sheet, best.index, dtype=object)
    share = to(best["rate"] / sheets, "share")
    return best.assign(sheet=sheets, share=share, half=best["precision"].map(half))


def alignment(fine: pd.DataFrame) -> Facts:
    """What sizes near one another lose whose rows are no multiple of ROW_BYTES.

    older: whether all kernels of these are named after older GPUs than all of the others are.
    """
    item = fine["precision"].map(ITEM_BYTES).astype(float)
    is_aligned = fine["size"] * item % ROW_BYTES == 0
    aligned, others = fine[is_aligned], fine[~is_aligned]
    fast, slow = of(aligned["rate"], "median"), of(others["rate"], "median")
    lost = to(pd.Series([1 - slow / fast], dtype=object), "share").iloc[0]
    old, new = capabilities(others), capabilities(aligned)
    older = bool(old and new) and max(old) < min(new)
    verdict = "older kernels" if older else "slower"
    verdict = verdict if lost >= DROP else "not slower" if lost == lost else "rates"
    odd = of(others["rate"][others["size"] % 2 == 1], "median")
    even = of(others["rate"][others["size"] % 2 == 0], "median")
    medians = {"aligned": fast, "odd": odd, "even": even, "lost": lost}
    return medians | {"verdict": verdict, "precision": first(fine)["precision"]}


def capabilities(mine: pd.DataFrame) -> list[int]:
    """The compute capabilities that all kernels are named after; none unless all names tell."""
    told = {built_for(kernel) for kernel in mine["kernel"]}
    return sorted(number for number in told if number) if None not in told else []


def by_divisor(fine: pd.DataFrame) -> pd.DataFrame:
    """A row per largest divisor of sizes near one another: how many, and their median rate."""
    ordered = fine.sort_values("divisor", key=lambda c: -c.astype(float))
    made = []
    for divisor, mine in ordered.groupby("divisor", sort=False):
        one = holds(mine["rate"], mine["rate"].notna(), "measured")
        about = {"divisor": divisor, "sizes": of(one, "sum"), "rate": of(mine["rate"])}
        made.append(about | {"after": ", ".join(f"sm{each}" for each in capabilities(mine))})
    return pd.DataFrame(made)


def figure(sized: pd.DataFrame, fine: pd.DataFrame) -> Plot:
    """Rates by size, and by what divides n."""
    divided = fine.sort_values("divisor", key=lambda c: -c.astype(float))
    sizes = Panel(sized, "n", "rate", "precision", log="xy", title="by size", ylabel=YLABEL)
    kinds = Panel(divided, "n", "rate", "divisor", mark="o", label="by {}", title=DIVIDES)
    panels = [replace(panel, xlabel="n") for panel in (sizes, kinds)]
    return Plot(panels, "no product was measured")


DIVISORS = (32, 16, 8, 2, 1)


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with the largest of DIVISORS of n; measured ones also with rate and kernel."""
    made = []
    for row in rows:
        divisor = {"divisor": next(d for d in DIVISORS if row["n"] % d == 0)} if "n" in row else {}
        made.append(row | divisor | (_product(row) if row["status"] == "ok" else {}))
    return made


def _product(row: Row) -> Row:
    """The rate (TFLOP/s) of a product's 2 n^3 FLOPs, and the kernel with the most time.

    Only matrix multiplications compete for that, if any ran.
    """
    products = [each for each in row["activities"] if each["family"] == "gemm"]
    longest = (products or row["activities"] or [{}])[0]
    return {
        "tflops": 2 * row["n"] ** 3 / (row["median_ms"] * 1e9),
        "kernel": longest.get("short_name", ""),
        "ran": longest.get("precision_ran", ""),
    }
