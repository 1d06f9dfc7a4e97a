"""How much of the captures' time is known by what launched it, and whether families agree with it.

A family is told by a kernel's name. Where a benchmark recorded what launched each kernel, the
operator tells a family too, so that one checks the other in every capture.
"""

from pathlib import Path

import pandas as pd

from workflow_src.answers.command import read_optional
from workflow_src.answers.evidence import Row


def explained(tables: Path, captures: int) -> Row:
    """Values for the template of the table alignment in `tables`; `captures`: how many there are.

    Shares are of device time. Phases whose record can't be used are counted by their reason.
    """
    table = read_optional(tables, "alignment")
    known = table[table["status"] == "ok"]
    unknown = table[table["status"] != "ok"]
    reasons = unknown["reason"].where(unknown["reason"] != "", unknown["status"])
    return {
        "captures": captures,
        "cases": int(known["case"].nunique()),
        "aligned": _numbers(known["aligned_share"]),
        "shaped": _numbers(known["gemm_share_with_shape"]),
        "miscounted": sorted(set(known.loc[known["flops"] != known["flops_expected"], "case"])),
        "unusable": {str(reason): int(count) for reason, count in reasons.value_counts().items()},
    } | _disagreement(known)


def _numbers(column: "pd.Series[float]") -> list[float]:
    return [float(value) for value in column.dropna()]


def _disagreement(known: pd.DataFrame) -> Row:
    """The largest share of a phase's kernel time on whose family the two disagree, and of what."""
    differing = known[known["family_disagreement_share"] > 0]
    if differing.empty:
        return {"disagree": 0.0, "example": ""}
    worst = differing.sort_values("family_disagreement_share").iloc[-1]
    return {
        "disagree": float(worst["family_disagreement_share"]),
        "example": str(worst["family_disagreement"]),
    }
