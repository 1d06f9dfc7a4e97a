"""The matrix product that takes the most time in a part of a step, and what it multiplies."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.answers.kernels import calls, device_ms, grouped, multiplies, ranked
from workflow_src.answers.top_kernel.layer_calls import explained, in_layers
from workflow_src.answers.top_kernel.tops import product_words
from workflow_src.common.operators import CALLING, GROUPED
from workflow_src.paper.markdown import joined
from workflow_src.paper.value import Cell, Value, ratio, rows_of, value

FORWARD = "forward"
HEAD = "head"

SAME_PRODUCT = ["direction", "m", "n", "k", "matrices"]


@dataclass(frozen=True)
class Product:
    """A matrix product, or all of the same sizes: what it multiplies, its calls and its time (ms).

    `name` is "feed-forward gate and up", or "input gradient of output head".
    """

    name: str
    calls: Cell
    ms: Value
    share: Value


def top_product(rows: pd.DataFrame, products: pd.DataFrame, layers: Value | None) -> Product | None:
    """The product with the most time in `rows` (of `device_rows`); None if nothing multiplies.

    `products` are the rows of products.csv of the same part. Where they don't account for every
    call, it is the kernel that multiplies for longest, named after the places where it runs. On a
    CPU that is an operator, which runs all of them; there fused attention, which has no sizes, is
    held against the others.
    """
    multiplying = multiplies(rows)
    multiplying = multiplying[~multiplying["name"].isin(CALLING)]
    if multiplying.empty:
        return None
    apart = (multiplying["kind"] == "operator") & (
        (multiplying["family"] == "attention") | multiplying["name"].isin(GROUPED)
    )
    number = calls(multiplying[~apart])
    if abs(products["kernels_per_step"].sum() - (number.number if number else 0)) > 1e-6:
        return _of_kernel(multiplying, rows, layers)
    of_sizes = _of_sizes(products, rows, layers) if len(products) else None
    fused = multiplying[apart & (multiplying["family"] == "attention")]
    attention = _of_kernel(fused, rows, layers) if len(fused) else None
    found = [each for each in (of_sizes, attention) if each]
    return max(found, key=lambda each: each.ms.number, default=None)


def _of_kernel(
    multiplying: pd.DataFrame, rows: pd.DataFrame, layers: Value | None
) -> Product | None:
    mine = multiplying[multiplying["name"] == next(ranked(multiplying)).name]
    by_component = grouped(mine, "component").values()
    places = [str(each["place"].iloc[0]) for each in by_component]
    ms = device_ms(mine)
    share = ratio(ms, device_ms(rows), "share", "kernel / part")
    number = explained(calls(mine), in_layers(mine, layers), layers)
    return Product(joined(places), number, ms, share) if ms and share else None


def _of_sizes(products: pd.DataFrame, rows: pd.DataFrame, layers: Value | None) -> Product | None:
    groups = [mine for _, mine in products.groupby(SAME_PRODUCT)]
    mine = max(groups, key=lambda group: group["busy_ms_per_step"].sum())
    source = rows_of("products", mine)
    ms = value(mine["busy_ms_per_step"].sum(), "ms", source, formula="sum over kernels")
    number = value(mine["kernels_per_step"].sum(), "calls", source, formula="sum over kernels")
    inside = mine.loc[mine["product"] != HEAD, "kernels_per_step"].sum()
    share = ratio(ms, device_ms(rows), "share", "product / part")
    name = _named(str(mine["direction"].iloc[0]), product_words(mine["product"]))
    return Product(name, explained(number, inside, layers), ms, share) if ms and share else None


def _named(direction: str, product: str) -> str:
    return product if direction == FORWARD else f"{direction} of {product}"
