"""How much of a capture the record of a benchmark explains, and whether the two agree."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow_src.common.operators import CALLING, MULTIPLYING
from workflow_src.placing.alignment import NOT_ALIGNED
from workflow_src.placing.families import families
from workflow_src.tables.products import KNOWN

Launched = Mapping[str, Any]
"""What launched the work of a phase, as measure/operators.py records it."""


def families_of(launched: Launched) -> pd.Series:
    """The family of each recorded operator."""
    return families(pd.Series([each["operator"] for each in launched["operators"]], dtype="str"))


def alignment_row(
    found: pd.DataFrame, launched: Launched, products: pd.DataFrame
) -> dict[str, Any]:
    """How much of a phase's device time is explained, and whether families agree.

    found, products: a phase's activities, and those that are products, as tables/operators.py
    makes them.
    """
    calling = [
        number
        for number, each in enumerate(launched["operators"])
        if each["operator"] in CALLING | MULTIPLYING and "order" not in each
    ]
    called = (found["kind"] != "operator") | ~found["operator"].isin(calling)
    multiplying = found[called & (found["family"] == "gemm")]
    kernels = found[found["kind"].isin(("kernel", "operator")) & (found["operator"] >= 0)]
    kernels = kernels.assign(by_operator=kernels["operator"].map(families_of(launched)))
    differing = kernels[kernels["by_operator"] != kernels["family"]]
    keys = ["family", "by_operator", "operator_name", "short_name"]
    times = differing.groupby(keys)["duration_ns"].sum()
    example = "{3} is {0}, its operator {2} is {1}"
    return {
        "aligned_share": _share(found[found["operator"] != NOT_ALIGNED], found),
        "parting": _parting(found),
        "gemm_share_with_shape": _share(products, multiplying),
        "gemm_share_with_product": _share(products[products["product"].isin(KNOWN)], multiplying),
        "flops": products["flops"].sum() / max(found["step"].nunique(), 1),
        "family_disagreement_share": _share(differing, kernels) if len(differing) else 0.0,
        "family_disagreement": example.format(*times.idxmax()) if len(times) else "",
    }


def _share(part: pd.DataFrame, whole: pd.DataFrame) -> float:
    total = int(whole["duration_ns"].sum())
    return int(part["duration_ns"].sum()) / total if total else 1.0


def _parting(found: pd.DataFrame) -> str:
    """Where the capture and the record part first, or empty."""
    lost = found[found["place"] == NOT_ALIGNED]
    if lost.empty:
        return ""
    first = lost.iloc[0]
    number = 1 + int((found["step"] == first["step"]).iloc[: lost.index[0]].sum())
    return (
        f"{len(lost)} of {len(found)} activities have no partner, the first is number {number} of "
        f"step {first['step']}: {first['short_name']}"
    )
