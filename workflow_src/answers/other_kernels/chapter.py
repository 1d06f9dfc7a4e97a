"""The answer to (c): fused attention, one kernel with two products in it, counts as a product."""

import pandas as pd

from workflow_src.answers.components import in_model_order
from workflow_src.answers.drawn import bars
from workflow_src.answers.facts import (
    PRODUCTS,
    captured,
    example,
    in_first,
    kernels,
    leader,
    main,
    placed,
    product_share,
    shown_of_all,
)
from workflow_src.common.operators import COPY
from workflow_src.common.thresholds import LEAST_SHARE_SHOWN, SHARES_REPEAT_WITHIN
from workflow_src.paper.number import Numbers, holds, named, of, over, to
from workflow_src.paper.run import AXES, Quantities, Run, first, medians, wide
from workflow_src.paper.written import Facts
from workflow_src.placing.kernel_words import CASTS, changes_type

FORWARD = "forward"
NOTHING = "no device time besides products was measured"
MOST = 0.5

QUADRATIC = ("scores and mask", "softmax")
"""Components that besides products work on matrices of context x context alone."""

REMEDIES = dict.fromkeys((*QUADRATIC, "values"), "sdpa, compile") | dict.fromkeys(
    ("norms", "rotary positions", "feed-forward", "residual additions"), "compile"
)
"""(f)'s remedies of what a component runs besides products."""

GROWING = ("square", "products", "rest")
"""What is compared between contexts."""


def facts(run: Run) -> Facts:
    """What the template says."""
    rows = placed(run, kernels(run, FORWARD))
    rows = rows.assign(product=rows["family"].isin(PRODUCTS))
    others, whole = rows[~rows["product"]], over(rows, "case", "ms")
    parts, kinds = (shares_of(others, by, whole) for by in ("component", "what"))
    cases = passes(run, rows, parts)
    known = cases[cases["besides"].notna()]
    most = holds(known["besides"], known["besides"] > MOST, "besides products > 50 %")
    chosen = example(run, known.index)
    components = by_precision(known, parts)
    drawn = rows.assign(part=rows["component"].mask(rows["product"]))
    opened = {"(c) forward: share that isn't matrix products": (known["besides"], "median")}
    return {
        **headline(run, known),
        **shown_of_all(run, cases, known, "besides"),
        "over": of(most, "count"),
        "summary": summary(run, known, most),
        "fused": bool((rows["family"] == "attention").any()),
        "example": first(known[known.index == chosen]),
        "components": components.assign(remedy=components[""].map(REMEDIES)),
        "kinds": by_precision(known, kinds),
        "growth": growth(known),
        "besides": parts[in_model_order(map(str, parts))].rename_axis("case").reset_index(),
        "figure": bars(run, drawn, {FORWARD: "{}"}, NOTHING, 3),
        "opening": medians(known, opened),
    }


def passes(run: Run, rows: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """A row per case: ms, launches and share of products and of all else, of which the `largest`
    component; casts of weights; `state`."""
    other, square = ~rows["product"], rows["component"].isin(QUADRATIC)
    taken = {"products": ~other, "others": other, "uncast": other & ~rows["what"].isin(CASTS)}
    taken |= {"square": other & square, "rest": other & ~square}
    made = {name: over(rows[mine], "case", "ms") for name, mine in taken.items()}
    for name, mine in (("launches", other), ("product_launches", ~other)):
        made[name] = over(rows[mine], "case", "calls_per_step", unit="count")
    made |= {"whole": over(rows, "case", "ms"), "product_share": product_share(rows)}
    made |= {"casts": weight_casts(run)}
    found = named(pd.DataFrame(made, dtype=object).reindex(run.cases.index))
    values = parts.astype(float)
    values = values[values.max(axis=1) > 0]
    largest = values.idxmax(axis=1) if len(values) else pd.Series(dtype=object)
    shares = {case: parts.at[case, name] for case, name in largest.items()}
    return run.cases.join(found).assign(
        state=captured(run, FORWARD),
        besides=to(1 - found["product_share"], "share"),
        cast_share=to(found["casts"] / found["whole"], "share"),
        largest=largest.reindex(found.index),
        largest_share=pd.Series(shares, dtype=object).reindex(found.index),
    )


def shares_of(rows: pd.DataFrame, by: str, whole: Numbers) -> pd.DataFrame:
    """By case what share of the `whole` pass each component, or kind, has; 0 if none."""
    ms = wide(over(rows, ["case", by], "ms"), whole.index)
    filled = {name: ms[name].where(ms[name].notna(), whole * 0) for name in ms}
    shares = {name: to(cells / whole, "share") for name, cells in filled.items()}
    return pd.DataFrame(shares, whole.index, dtype=object)


def weight_casts(run: Run) -> Numbers:
    """By case the ms of casts of weights on a GPU, which unlike activations are matrices."""
    rows = run.of_phase("operators", FORWARD)
    rows = rows[(rows["operator"] == COPY) & (rows["device"] != "cpu")]
    rows = rows[rows["shapes"].str.match(r"\d+ x \d+(;|$)").astype(bool)]
    rows = rows[rows["short_name"].map(changes_type).astype(bool)]
    return over(rows, "case", "busy_ms_per_step", unit="ms")


def headline(run: Run, known: pd.DataFrame) -> Facts:
    """The verdict; how many times as fast the last precision makes products and all else; the
    component that leads."""
    ends = [*run.precisions[:1], *run.precisions[-1:]]
    mine, base = known[known["precision"].isin(ends[1:])], in_first(run, known)
    base = base.loc[mine.index]
    faster, less = (of(base[name] / mine[name]) for name in ("products", "others"))
    largest, leads = leader(known["largest"], known["largest_share"], "the largest is {}")
    told = faster > less and of(mine["besides"]) > MOST
    verdicts = {
        "can't tell": known.empty,
        "nothing": largest == "",
        "slower": told and less < 1,
        "faster": told,
        "most": bool((known["besides"] > MOST).any()),
    }
    said = next((name for name, true in verdicts.items() if true), "less")
    longer = of(mine["others"] / base["others"])
    times = {"faster": faster, "less": less, "longer": longer, "precisions": ends}
    return {"verdict": said, **times, "largest": largest, "leads": leads}


def summary(run: Run, known: pd.DataFrame, most: Numbers) -> pd.DataFrame:
    """The table of medians."""
    base, name = in_first(run, known), "".join(run.precisions[:1])
    rows: Quantities = {
        "products' share of device time": known["product_share"],
        "share besides products": known["besides"],
        "that is over half in": (most, "count"),
        "launches of products": known["product_launches"],
        "launches besides products": known["launches"],
        "casts of weights, of device time": known["cast_share"],
        f"products' time / that in {name}": known["products"] / base["products"],
        f"all else's time / that in {name}": known["others"] / base["others"],
        "all else but casts, the same": known["uncast"] / base["uncast"],
    }
    return medians(known, rows)


def by_precision(known: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """Medians of shares, of those that matter at any precision; largest first."""
    found = medians(known, {str(n): (shares[n].reindex(known.index), "median") for n in shares})
    most = found.drop(columns="").astype(float).max(axis=1).sort_values(ascending=False)
    return found.loc[most.index[most >= LEAST_SHARE_SHOWN]]


def growth(known: pd.DataFrame) -> pd.DataFrame:
    """How many times as long GROWING takes at the longest context as at the shortest, medians by
    precision, and in how many cases the share besides products `rises`."""
    rows = known.assign(length=pd.to_numeric(known["context"], errors="coerce"))
    rows, alike = rows.sort_values("length", kind="stable"), [n for n in AXES if n != "context"]
    short = rows.drop_duplicates(alike, keep="first").set_index(alike)
    long = rows.drop_duplicates(alike, keep="last").set_index(alike).reindex(short.index)
    short, long = (each[short["length"] < long["length"]] for each in (short, long))
    found = pd.DataFrame({name: long[name] / short[name] for name in GROWING}, dtype=object)
    rises = long["besides"] - short["besides"] > SHARES_REPEAT_WITHIN
    rise = holds(long["besides"], rises, "it rises by over 1 point")
    found = found.assign(contexts=short["context"] + " to " + long["context"], rises=rise)
    by, found = ["precision", "contexts"], found.reset_index()
    made = {name: over(found, by, name, "median") for name in GROWING}
    return pd.DataFrame({**made, "rises": over(found, by, "rises", "count")}).reset_index()


if __name__ == "__main__":
    main("c", facts)
