"""How near fused attention comes to two ceilings: that of matrix products, and of exponentials.

For each score, a fused forward pass computes 4 FLOPs per head dimension (QK^T and AV) and one
exponential. The rate of exponentials is the same at every head size, so at small ones they take
longer than the products (Shah et al., FlashAttention-3, 2024, arXiv:2407.08608).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.paper.value import Cell, Value, computed
from workflow_src.studies.attention.passes import name
from workflow_src.studies.lines import Line, grouped, shown, where

FUSED = ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
"""The implementations that compute causal attention in one kernel, without masked blocks."""


@dataclass(frozen=True)
class Bounds:
    """The rates of two ceilings, the head size at which both take as long, and a row per head size.

    Products in TFLOP/s, exponentials in 10^9 a second.
    """

    products: Value
    exponentials: Value
    equal_at: Value | None
    table: pd.DataFrame


def bounds(cores: Sequence[Line], ceilings: Sequence[Line]) -> Bounds | None:
    """Per head size the fastest fused forward pass at its longest context, against the ceilings.

    None without a fused pass, or without either ceiling.
    """
    fused = [line for line in cores if line.ok and line.text("implementation") in FUSED]
    fused = [line for line in fused if line.text("phase") == "forward" and line.has(*NEEDED)]
    precision = fused[0].text("precision") if fused else ""
    products = rate(ceilings, "compute", "best_tflop_per_s", precision)
    exponentials = rate(ceilings, "exponential", "best_giga_exp_per_s")
    if not fused or not products or not exponentials:
        return None
    flops_per_score = products.number * 1e3 / exponentials.number
    sizes = sorted(grouped(fused, "head_size"), key=lambda mine: mine[0].amount("head_size"))
    return Bounds(
        products=products,
        exponentials=exponentials,
        equal_at=computed(
            flops_per_score / 4, "", "products / (4 exponentials)", products, exponentials
        ),
        table=shown([_bound(max(mine, key=_longest), products, exponentials) for mine in sizes]),
    )


NEEDED = ("median_ms", "batch", "heads", "context", "head_size")


def rate(ceilings: Sequence[Line], kind: str, column: str, precision: str = "") -> Value | None:
    """The ceiling of a kind, of one precision if that is given; None without one."""
    known = where(ceilings, kind=kind, **({"precision": precision} if precision else {}))
    rates = (line.value(column, "") for line in known if line.true("is_ceiling"))
    return next((rate for rate in rates if rate and rate.number), None)


def _longest(line: Line) -> tuple[float, float]:
    """What the fastest pass at the longest context has most of."""
    return line.amount("context"), -line.amount("median_ms")


def _bound(line: Line, products: Value, exponentials: Value) -> dict[str, Cell]:
    """A pass, with the shares of it that its causal products and exponentials take at best."""
    context, time = line.amount("context"), line.value("median_ms", "ms")
    scores = line.amount("batch") * line.amount("heads") * context * (context + 1) / 2
    # A rate of 10^9 a second is 10^6 a millisecond, one of 10^12 a second 10^9.
    products_ms = 4 * line.amount("head_size") * scores / (products.number * 1e9)
    exponentials_ms = scores / (exponentials.number * 1e6)
    ms = line.amount("median_ms")
    return {
        "head size": line.whole("head_size"),
        "context": line.whole("context"),
        "fastest": name(line),
        "forward, ms": time,
        "products would take": computed(products_ms / ms, "share", "at ceiling", time, products),
        "exponentials": computed(exponentials_ms / ms, "share", "at ceiling", time, exponentials),
    }
