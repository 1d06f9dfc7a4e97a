"""Study attention: which is fastest, what it does to memory, and how one's own stands beside it."""

import pandas as pd

from workflow_src.common.case import names_code, short_name
from workflow_src.paper.figures import Panel, Plot
from workflow_src.paper.number import Numbers, added, end, of, over, to
from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Facts
from workflow_src.studies.attention.analyze import derive as derive
from workflow_src.studies.facts import load, or_state, sortable, unmeasured

NAMES = {
    "naive": "written out",
    "fused_softmax": "torch's softmax",
    "sdpa_math": "SDPA math",
    "sdpa_efficient": "SDPA memory-efficient",
    "sdpa_flash": "SDPA flash",
    "sdpa_cudnn": "SDPA cuDNN",
    "compiled": "written out, compiled",
    "flex": "flex_attention",
}
"""SDPA is PyTorch's own operator, with its backends."""

WRITTEN_OUT = NAMES["naive"]

HEAD_SIZE = 64
"""The head size of the section, where it was measured."""

LONGEST = 4
"""How many of the longest contexts one's own is judged by: one alone may be an exception."""


def facts(run: Run) -> Facts:
    """What the study's table says, and how near its passes come to the run's ceilings."""
    table = load(run, "attention")
    table = table.assign(
        name=table["implementation"].map(worded).astype(object),
        own=table["implementation"].map(names_code).astype(bool),
    )
    checks, passes = (table[table["sweep"] == sweep] for sweep in ("check", "time"))
    passes = limited(passes, run.numbers("ceilings"))
    every = shapes(passes)
    shown = shown_of(every)
    in_turn = every["before_backward_mib_forward"].notna() | (every["point"] == "loops")
    lost = table.drop_duplicates(["name", "precision", "phase", "status"])
    wrong = first(checks[(checks["status"] == "failed") & checks["own"]])["name"]
    return against(shown, wrong) | {
        "shape": first(shown[shown["ms"].notna()]),
        "contexts": by_context(shown),
        "every": every[every["ms"].notna() | every["time_forward"].notna()],
        "in_turn": every[in_turn],
        "checks": errors(checks),
        "missing": unmeasured(lost, "name", "precision", "phase"),
        "figure": figure(shown),
    }


def worded(implementation: str) -> str:
    """An implementation in words; file.name of one's own."""
    own = names_code(implementation)
    return short_name(implementation) if own else NAMES.get(implementation, implementation)


def limited(passes: pd.DataFrame, ceilings: pd.DataFrame) -> pd.DataFrame:
    """With the `rate` of the needed products; `limit`, the ceiling at which a pass's work takes
    longest; and the `share` of its time that it takes there."""
    best = ceilings[ceilings["is_ceiling"]]
    ms, products = passes["median_ms"].where(passes["ok"]), passes["products_in"]
    products = products.where(products != "", passes["precision"])
    compute = best[best["kind"] == "compute"].drop_duplicates("precision").set_index("precision")
    exponentials = first(best[best["kind"] == "exponential"])["best_giga_exp_per_s"]
    bandwidth = first(best[best["kind"] == "bandwidth"])["best_gb_per_s"]
    rate = to(passes["flops"] / ms, "TFLOP/s")
    shares = {
        "products": rate / products.map(compute["best_tflop_per_s"]).astype(object),
        "exponentials": to(passes["exponentials"] / ms, "10^9/s") / exponentials,
        "memory": to(passes["matrix_bytes"] / ms, "GB/s") / bandwidth,
    }
    every = pd.DataFrame(shares, passes.index, dtype=object)
    most = every.astype(float).fillna(-1.0).to_numpy().argmax(axis=1)
    share = pd.Series(every.to_numpy()[range(len(every)), most], passes.index, dtype=object)
    named = pd.Series(every.columns[most], passes.index, dtype=object).where(share.notna())
    limit = named.where(named != "products", products + " products")
    return passes.assign(rate=rate, share=to(share, "share"), limit=limit)


def shapes(passes: pd.DataFrame) -> pd.DataFrame:
    """A row per attention and shape: its time, memory and work forward, backward and in both.

    ms, kernels and device time of both passes are sums where the two were measured apart; their
    cells say why there is none.
    """
    key = ["point", "precision", "batch", "head_size", "name", "context"]
    told = passes[key].astype(str).agg(" ".join, axis=1)
    passes = passes.assign(key=told if len(passes) else "")
    rows = passes.drop_duplicates("key").set_index("key")[["own", *key]]
    forward, backward, both = (
        passes[passes["phase"] == phase].drop_duplicates("key").set_index("key").reindex(rows.index)
        for phase in ("forward", "backward", "forward_backward")
    )

    def whole(name: str) -> Numbers:
        apart = pd.DataFrame({"forward": forward[name], "backward": backward[name]}).dropna()
        return both[name].combine_first(added(apart).reindex(rows.index))

    def of_both(name: str) -> pd.Series:
        return both[name].combine_first(backward[name])

    ms, busy, ran = whole("time"), whole("busy_ms"), of_both("ok").eq(True)
    own = ["time", "samples", "rate", "limit", "share", "before_backward_mib", "predicted_peak_mib"]
    return rows.join(forward[own].add_suffix("_forward")).assign(
        forward=or_state(forward["time"], forward),
        backward=or_state(backward["time"], backward),
        ms=ms,
        both=ms.where(ms.notna() | ran, of_both("state")),
        peak=of_both("peak_mib"),
        peak_predicted=of_both("predicted_peak_mib"),
        kernels_both=whole("kernels"),
        working=to(busy / ms, "share"),
        rate_forward_backward=both["rate"],
    )


def shown_of(every: pd.DataFrame) -> pd.DataFrame:
    """The shapes of the first precision and batch with a time, at HEAD_SIZE or the largest."""
    some = first(every[every["ms"].notna()])
    mine = every[(every["precision"] == some["precision"]) & (every["batch"] == some["batch"])]
    sizes = mine["head_size"][mine["ms"].notna()]
    size = HEAD_SIZE if (sizes == HEAD_SIZE).any() else of(sizes, "max")
    shown: pd.DataFrame = mine[mine["head_size"] == size]
    return shown.sort_values("context", key=sortable, kind="stable")


def against(shown: pd.DataFrame, wrong: object) -> Facts:
    """The fastest and the written-out attention at the longest context at which the latter ran,
    else the longest of all; one's own against PyTorch's; and the verdict on these."""
    timed = shown[shown["ms"].notna()]
    naive = timed[timed["name"] == WRITTEN_OUT]
    context = first((naive if len(naive) else timed)[::-1])["context"]
    here = shown[shown["context"] == context].drop_duplicates("name")
    here = here.sort_values("ms", key=sortable, kind="stable")
    best, plain = first(here), first(here[here["name"] == WRITTEN_OUT])
    low, high = (end(here["ms"], which).combine_first(here["ms"]) for which in (0, 1))
    apart = (low[here["name"] == WRITTEN_OUT] > high.iloc[:1].max()).any()
    own, theirs = (fastest(shown[shown["own"] == is_own]) for is_own in (True, False))
    ratios = (own["time_forward"] / theirs["time_forward"]).dropna().tail(LONGEST)
    verdict = (
        "can't tell"
        if timed.empty
        else "wrong" if wrong == wrong
        else "own" if len(ratios)
        else "alone" if naive.empty
        else "faster" if apart
        else "alike"
    )  # fmt: skip
    return {
        "verdict": verdict,
        "context": context,
        "best": best["name"],
        "best_ms": best["both"],
        "times": plain["ms"] / best["ms"],
        "here": here.assign(over=plain["ms"] / here["ms"]),
        "wrong": wrong,
        "own": own["name"].get(ratios.index[-1]) if len(ratios) else "",
        "own_times": of(ratios),
    }


def fastest(shown: pd.DataFrame) -> pd.DataFrame:
    """The fastest forward pass at each context."""
    timed = shown[shown["time_forward"].notna()].sort_values("time_forward", key=sortable)
    timed = timed.drop_duplicates("context").sort_values("context", key=sortable)
    return timed.set_index(timed["context"].astype(float))


def by_context(shown: pd.DataFrame) -> pd.DataFrame:
    """The time of both passes by context, a column per attention."""
    if shown.empty:
        return pd.DataFrame()
    rows = shown.drop_duplicates(["context", "name"])
    names, contexts = rows["name"].unique(), rows["context"].drop_duplicates()
    found = rows.pivot(index="context", columns="name", values="both")
    return found.reindex(index=contexts, columns=names).rename_axis(columns=None).reset_index()


def errors(checks: pd.DataFrame) -> pd.DataFrame:
    """By attention and precision the largest errors over head sizes."""
    key = ["name", "precision"]
    rows = checks.drop_duplicates(key).set_index(key)
    names = ("error_out", "error_dq", "error_dk", "error_dv")
    found = {name: over(checks, key, name, "max").reindex(rows.index) for name in names}
    told = rows["error_allowed"].where(rows["ok"], float("nan"))
    said = rows["state"].where(~rows["ok"], "")
    return rows.assign(**found, allowed=told, said=said).reset_index()


def figure(shown: pd.DataFrame) -> Plot:
    """Rates of forward and of both passes, and peak memory, over context."""
    drawn = {
        "rate_forward": ("forward", "TFLOP/s of the causal half"),
        "rate_forward_backward": ("forward + backward", "TFLOP/s of the causal half"),
        "peak": ("peak memory", "MiB"),
    }
    panels = [
        Panel(shown, "context", column, "name", log="xy", title=title, ylabel=unit)
        for column, (title, unit) in drawn.items()
    ]
    return Plot(panels, "no attention was measured", size=(4.4, 3.6))
