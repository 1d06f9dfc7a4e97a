"""FLOPs of a step's matrix products: of recorded operators, by formula, and as torch counts."""

from collections.abc import Mapping
from math import prod
from typing import Any

from workflow_src.common.case import AnyCase, Brought
from workflow_src.common.operators import GROUPED, LAYERS, MULTIPLYING
from workflow_src.model.flops import MATMUL_COMPONENTS, forward_work

WITH_BACKWARD = 3
"""A backward pass has two products of the size of each forward one."""

ADD_NOTHING = GROUPED | {"aten::mm", "aten::bmm"}
"""Products whose first input is a factor, not what is added."""

IN_ATTENTION = ("scores", "values")

Operator = Mapping[str, Any]


def product_flops(operator: Operator) -> int | None:
    """2 m n k of all pairs of matrices, (m, k) and (k, n), that a recorded operator multiplies.

    None if it multiplies none itself: autocast's call another one that does.
    """
    name = operator["operator"]
    if name not in MULTIPLYING or not MULTIPLYING.isdisjoint(operator.get("calls", ())):
        return None
    # Behind both factors there may be an output that was given.
    first = 0 if name in ADD_NOTHING else 1
    factors = [shape for shape in operator["shapes"] if shape][first : first + 2]
    (*batch, m, k), (*others, _, n) = factors
    # Of experts without a batch, each of the n columns is in one group.
    pairs = [] if name in GROUPED and not others else batch
    flops: int = 2 * prod([*pairs, m, n, k])
    return flops


def expected_flops(case: AnyCase, phase: str) -> int | None:
    """FLOPs of a phase's matrix products by the formulas of model/flops.py; None for a brought
    model or attention. Without fused attention's two products: its kernels are its own."""
    if isinstance(case, Brought) or case.brought_code:
        return None
    fused = IN_ATTENTION if case.attention == "sdpa" else ()
    names = [name for name in MATMUL_COMPONENTS if name not in fused]
    forward = sum(work.flops for work in forward_work(case) if work.component in names)
    return forward * (1 if phase == "forward" else WITH_BACKWARD)


def counted_flops(recorded: Operator) -> int | None:
    """FLOPs of a recorded phase's matrix products by torch's counter; None if it didn't count, or
    counted a whole layer as one, of whose products the profiler has each."""
    flops: Mapping[str, int] | None = recorded.get("counted", {}).get("flops")
    if flops is None or not LAYERS.isdisjoint(flops):
        return None
    return sum(number for name, number in flops.items() if name in MULTIPLYING)
