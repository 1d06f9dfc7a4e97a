"""The kernel and the matrix product with the most time in each part of a step."""

from collections.abc import Iterable
from itertools import groupby

import pandas as pd

from workflow_src.answers.facts import PRODUCTS, kernels, placed
from workflow_src.common import words
from workflow_src.common.operators import CALLING, GROUPED
from workflow_src.paper.markdown import joined
from workflow_src.paper.number import Numbers, named, over, to
from workflow_src.paper.run import Run, keyed

FORWARD, BACKWARD, BOTH = "forward", "backward", "forward_backward"
PART = ["case", "part"]
SAME_PRODUCT = ["direction", "m", "n", "k", "matrices"]
FEED_FORWARD = ("gate", "up", "down")
LAYERS, FEW = 4, 2
"""With fewer layers, calls in backward could be split in several ways; see `in_layers`."""


def kernels_of(run: Run) -> pd.DataFrame:
    """The kernels of each `part` of a step; backward is what was launched inside its range."""
    rows = [kernels(run, phase).assign(part=phase) for phase in words.PHASES]
    backward = rows[1][inside(rows[1], BACKWARD)].assign(part=BACKWARD)
    return placed(run, pd.concat([*rows, backward]))


def products_of(run: Run) -> pd.DataFrame:
    """The matrix products of each part, with the columns of kernels."""
    rows = pd.concat([run.of_phase("products", phase) for phase in words.PHASES])
    rows = rows.assign(
        part=rows["phase"],
        busy_ns=rows["busy_ms_per_step"],
        ms=rows["busy_ms_per_step"],
        calls_per_step=rows["kernels_per_step"],
        sizes=rows.groupby(SAME_PRODUCT, dropna=False).ngroup(),
    )
    backward = rows[(rows["part"] == BOTH) & (rows["direction"] != FORWARD)]
    return pd.concat([rows, backward.assign(part=BACKWARD)])


def inside(rows: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Which rows were launched inside a range of that name."""
    return rows["path"].str.contains(rf"(?:^|/){name}(?:/|$)").astype(bool)


def longest(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """The rows of what takes the most time in each part."""
    sums = rows.groupby([*PART, by], sort=False)["busy_ns"].sum().reset_index()
    sums = sums.sort_values(["busy_ns", by], ascending=[False, True])
    first = pd.MultiIndex.from_frame(sums.drop_duplicates(PART)[[*PART, by]])
    return rows[pd.MultiIndex.from_frame(rows[[*PART, by]]).isin(first)]


def tops(run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row per case and part, and the `places` of its top kernel.

    Of that kernel, of all that does the same `together`, and of the top matrix `product` ms, share
    and `calls`.
    """
    rows, layers = kernels_of(run), layers_of(run)
    work = rows[rows["kind"].isin(["kernel", "operator"])]
    mine, doing = longest(work, "name"), longest(work, "what")
    main = keyed(mine.sort_values("busy_ns", ascending=False, kind="stable"), PART)
    product = top_product(rows, products_of(run), layers)
    ms = {"part": rows, "ms": mine, "together_ms": doing}
    times = pd.DataFrame({name: over(each, PART, "ms") for name, each in ms.items()})
    times = named(times.join(product["product_ms"]).astype(object))
    found = main[["name", "short_name", "what"]].join(times.drop(columns="part"))
    for name in ("", "together_", "product_"):
        found[f"{name}share"] = to(times[f"{name}ms"] / times["part"], "share")
    there = places(mine)
    found["together"] = keyed(doing, PART)["what"]
    found["where"] = there["at"].groupby(PART, sort=False).agg(", ".join)
    found = found.join(calls(mine, in_layers(mine, layers), layers))
    found = found.join(product.drop(columns="product_ms"))
    order = pd.MultiIndex.from_product([run.cases.index, words.PARTS], names=PART)
    return found.reindex(order[order.isin(found.index)]), there


def layers_of(run: Run) -> Numbers:
    """By case the layers of its forward pass; without cases whose steps differ."""
    rows = run.of_phase("ranges", FORWARD)
    rows = rows[rows["path"] == "forward/block"]
    same = rows.groupby("case")["instances"].transform("nunique") == 1
    return over(rows[same], "case", "instances", "max")


def in_layers(rows: pd.DataFrame, layers: Numbers) -> pd.Series:
    """The calls of each part that are the layers'; 0 if that isn't known.

    Backward has no ranges of layers: its calls must be a multiple of the layers, or at most FEW
    more. The optimizer's are no layer's.
    """
    backward, block = inside(rows, BACKWARD), inside(rows, "block")
    split = rows[PART].assign(
        forward=rows["calls_per_step"].where(block & ~backward, 0.0),
        undivided=rows["calls_per_step"].where(backward, 0.0),
        optimizer=inside(rows, "optimizer"),
    )
    of_part = split.groupby(PART)[["forward", "undivided", "optimizer"]].sum()
    deep = of_part.index.get_level_values("case").map(layers.astype(float).to_dict())
    undivided, more = of_part["undivided"], of_part["undivided"] % deep
    few = (deep < LAYERS) | (undivided < deep) | (more > FEW)
    unknown = (undivided > 0) & few | (of_part["optimizer"] > 0)
    return (of_part["forward"] + undivided - more.fillna(0.0)).mask(unknown, 0.0).fillna(0.0)


def calls(rows: pd.DataFrame, within: pd.Series, layers: Numbers) -> pd.DataFrame:
    """By part the `calls` a step; if `within`, those of layers, are alike, those `per_layer` and
    those `besides`, if any."""
    found = pd.DataFrame({"calls": over(rows, PART, "calls_per_step", unit="calls")})
    found["layers"] = found.index.get_level_values("case").map(layers.to_dict())
    found = named(found.astype(object))
    deep, within = found["layers"].astype(float), within.reindex(found.index, fill_value=0.0)
    divides = (deep >= 2) & (within > 0) & (within % deep == 0)
    besides = found["calls"] - within
    known = found.where(divides)
    each = to((known["calls"] - besides.astype(float)) / known["layers"], "calls")
    besides = to(known["calls"] - each * known["layers"], "calls")
    return found.assign(per_layer=each, besides=besides.where(besides > 0)).drop(columns="layers")


def places(rows: pd.DataFrame) -> pd.DataFrame:
    """Of a kernel in each part its calls `at` each place, most time first."""
    multiplies = rows["family"].isin(PRODUCTS).groupby([rows[name] for name in PART])
    rows = rows.assign(at=rows["place"].where(multiplies.transform("all"), rows["component"]))
    by = [*PART, "component"]
    found = rows.groupby(by).agg({"busy_ns": "sum", "place": "first", "at": "first"})
    found["calls"] = over(rows, by, "calls_per_step", unit="calls")
    found = found.reset_index().sort_values(["busy_ns", "component"], ascending=[False, True])
    return found.set_index(PART)


def top_product(rows: pd.DataFrame, products: pd.DataFrame, layers: Numbers) -> pd.DataFrame:
    """By part the products of equal sizes with the most time, in words, `product_` ms and calls.

    Where products.csv doesn't account for every call, the kernel that multiplies for longest. On a
    CPU, fused attention, an operator without sizes, is held against the others.
    """
    rows = rows[rows["family"].isin(PRODUCTS) & ~rows["name"].isin(CALLING)]
    fused = rows["family"] == "attention"
    apart = (rows["kind"] == "operator") & (fused | rows["name"].isin(GROUPED))
    number = rows["calls_per_step"].mask(apart, 0.0).groupby([rows[name] for name in PART]).sum()
    told = products.groupby(PART)["kernels_per_step"].sum().reindex(number.index, fill_value=0.0)
    whole = number.index[abs(told - number) <= 1e-6]
    is_whole = pd.MultiIndex.from_frame(rows[PART]).isin(whole)
    sized = longest(products[pd.MultiIndex.from_frame(products[PART]).isin(whole)], "sizes")
    kernel = longest(rows[~is_whole | (apart & fused)], "name")
    outside = sized["calls_per_step"].where(sized["product"] == "head", 0.0)
    of_layers = (sized["calls_per_step"] - outside).groupby([sized[name] for name in PART]).sum()
    parts = (
        (sized, of_layers, names_of_sizes(sized)),
        (kernel, in_layers(kernel, layers), places(kernel)["place"].groupby(PART).agg(joined)),
    )
    # A part may be in both: fused attention on a CPU is held against products of sizes.
    made = [
        calls(mine, within, layers)
        .assign(ms=over(mine, PART, "ms"))
        .add_prefix("product_")
        .assign(product=names)
        for mine, within, names in parts
    ]
    found = pd.concat(made)
    found = found.sort_values("product_ms", ascending=False, kind="stable")
    return found[~found.index.duplicated()]


def names_of_sizes(rows: pd.DataFrame) -> "pd.Series[str]":
    """By part products in words."""
    found = rows.groupby([*PART, "direction"])["product"].agg(product_words)
    named = found.reset_index("direction")
    of = (named["direction"] + " of ").where(named["direction"] != FORWARD, "")
    return of + named["product"]


def product_words(names: Iterable[str]) -> str:
    """Products of the same sizes in words: "QK^T", "feed-forward gate and up, output head"."""
    present = set(map(str, names))
    ordered = [name for name in words.PRODUCTS if name in present]
    said: list[str] = []
    for fed, group in groupby(ordered, FEED_FORWARD.__contains__):
        mine = list(group)
        said += [f"feed-forward {joined(mine)}"] if fed else [words.PRODUCTS[n] for n in mine]
    others = sorted(present - set(words.PRODUCTS) - {""})
    return joined([*said, *others]) or "a product that no name is known of"
