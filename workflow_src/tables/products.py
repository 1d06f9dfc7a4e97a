"""Matrix products of a step: forward or which gradient, with which sizes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import pandas as pd

from workflow_src.common.case import AnyCase, Brought
from workflow_src.common.operators import GROUPED, LAYERS, MULTIPLYING
from workflow_src.model.flops import MATMUL_COMPONENTS, forward_work
from workflow_src.tables.traffic import PLAIN

FORWARD, OF_INPUT, OF_WEIGHT = "forward", "input gradient", "weight gradient"
WITH_BACKWARD = 3
"""A backward pass has two products of the size of each forward one."""


@dataclass(frozen=True)
class Product:
    """C = A B with A (m, k) and B (k, n), for each of `matrices` pairs of them.

    layout: for A, then B, n if its rows are contiguous in memory and t if its columns are; empty
    if unknown. direction: FORWARD, OF_INPUT or OF_WEIGHT.
    """

    direction: str
    m: int
    n: int
    k: int
    matrices: int
    layout: str
    dtype: str

    @property
    def flops(self) -> int:
        """FLOPs: 2 m n k for each pair."""
        return 2 * self.matrices * self.m * self.n * self.k


def product_of(operator: Mapping[str, Any], tokens: Collection[int]) -> Product | None:
    """The product that a recorded operator computes; None if it computes none of its own.

    `tokens`: how many rows the first factor of its forward product may have, which is batch x
    context in a linear layer of this project's model. Over them a weight's gradient is summed.
    """
    if "order" not in operator:
        return None
    (*batch, m, k), (*others, _, n) = _factors(operator, "shapes")
    if operator["operator"] in GROUPED and not others:
        batch = []  # Each of the n columns is in one group.
    dtype = operator["dtypes"][0]
    layout = "".join(_order(each) for each in _factors(operator, "strides"))
    direction = FORWARD
    if operator["forward_operator"]:
        of_weight = not batch and _sums_over_tokens(m, k, layout, tokens)
        direction = OF_WEIGHT if of_weight else OF_INPUT
    return Product(direction, m, n, k, prod(batch), layout, dtype)


def _factors(operator: Mapping[str, Any], what: str) -> list[list[int]]:
    """The shapes or strides of the two factors, before an output that was given.

    They are the first two tensors, or the second and third, after what is added to the product.
    """
    first = 0 if operator["operator"] in PLAIN | GROUPED else 1
    return [each for each in operator.get(what, []) if each][first : first + 2]


def _order(strides: list[int]) -> str:
    return "n" if strides[-1] == 1 else "t"


def _sums_over_tokens(m: int, k: int, layout: str, tokens: Collection[int]) -> bool:
    """Whether a gradient in the backward pass of a linear layer is its weight's.

    If a layer is as wide as there are tokens, the sizes don't tell: there the weight's gradient is
    the one whose first factor, the output's gradient, is transposed.
    """
    if m in tokens and k in tokens:
        return layout.startswith("t")
    return k in tokens


def calls_per_step(products: pd.DataFrame) -> pd.Series:
    """The calls of each row of products.csv: how often its FLOPs are those of its sizes.

    0 for kernels that only take part in a call which has its FLOPs elsewhere, as adding up what a
    product split.
    """
    once = 2 * products[["m", "n", "k", "matrices"]].astype("float64").prod(axis=1)
    return products["flops_per_step"] / once


def expected_flops(case: AnyCase, phase: str) -> int | None:
    """FLOPs of a phase's matrix products by the closed formulas of model/flops.py.

    None for a brought model or attention, of which they don't tell. Fused attention multiplies in
    kernels of its own: its two products are left out.
    """
    if isinstance(case, Brought) or case.brought_code:
        return None
    fused = ("scores", "values") if case.attention == "sdpa" else ()
    names = [name for name in MATMUL_COMPONENTS if name not in fused]
    forward = sum(work.flops for work in forward_work(case) if work.component in names)
    return forward * (1 if phase == "forward" else WITH_BACKWARD)


def counted_flops(recorded: Mapping[str, Any]) -> int | None:
    """FLOPs of a recorded phase's matrix products by torch's counter; None if it didn't count.

    Nor if it counted a whole layer as one, of whose products the profiler has each.
    """
    flops: Mapping[str, int] | None = recorded.get("counted", {}).get("flops")
    if flops is None or not LAYERS.isdisjoint(flops):
        return None
    return sum(number for name, number in flops.items() if name in MULTIPLYING)
