"""A record of what launched the work of a capture of a GPU, made up from one of this CPU.

The model runs the same matrix products on both, in the same order. So the products recorded here
are those of the capture's kernels; what launched its other kernels is told from their family.
"""

import re
from typing import Any

import pandas as pd

from tests.test_operators import operator
from workflow_src.common.case import Case
from workflow_src.measure import operators
from workflow_src.measure.workload import Workload

OPERATORS = {
    "attention": "aten::_scaled_dot_product_flash_attention",
    "copy": "aten::copy_",
    "elementwise": "aten::mul",
    "fill": "aten::fill_",
    "optimizer": "aten::_fused_adamw_",
}
"""An operator of a family; of any other family, one whose bytes are unknown."""

ADDS_UP = re.compile("splitKreduce|split_k_kernel")
"""Kernels that add up what the product before them split."""


def gpu_record(case: Case, phase: str, step: pd.DataFrame) -> dict[str, Any]:
    """What launched each activity of a captured step, in the order they ran.

    step: one row per activity, with name, kind, family and path. Adding up what a product split
    continues its call, and a memset in a range of attention begins that of the next kernel.
    """
    products = iter(_products(operators.launched(Workload(case).phase(phase), "cpu")))
    found: list[dict[str, Any]] = []
    sequence: list[list[int]] = []
    continued = []
    begun = False
    for place, (name, kind, family, path) in enumerate(
        step[["name", "kind", "family", "path"]].itertuples(index=False, name=None)
    ):
        if begun or ADDS_UP.search(name):
            sequence.append([sequence[-1][0], place])
            continued.append([place, place - 1])
            begun = False
            continue
        begun = kind == "set"
        family = "attention" if begun else family
        launching = next(products) if family == "gemm" else _other(family, path)
        if launching not in found:
            found.append(launching)
        sequence.append([found.index(launching), place])
    assert next(products, None) is None, "each product has run"
    about = {"status": "ok", "reason": "", "operators": found, "names": step["name"].tolist()}
    return about | {"sequence": sequence, "continued": continued}


def _products(launched: Any) -> list[dict[str, Any]]:
    """The operator of each call that multiplies, in the order of a step."""
    again = {later for later, _ in launched["continued"]}
    calls = [
        launched["operators"][number]
        for place, (number, _) in enumerate(launched["sequence"])
        if place not in again
    ]
    return [each for each in calls if "order" in each]


def _other(family: str, path: str) -> dict[str, Any]:
    """An operator that launches kernels of a family; in backward, a gradient of another."""
    within = path.partition("/")[2]
    gradient = within == "backward"
    about = {"range": "forward/block/attention" if gradient else within}
    about |= {"forward_operator": "aten::expand" if gradient else ""}
    if family == "optimizer":
        about |= {"shapes": [[[4, 8]]] * 4, "dtypes": [["float32"]] * 4}  # type: ignore[dict-item]
    return operator(OPERATORS.get(family, "aten::other"), "4x8 4x8 4x8") | about
