"""A training step's parts: their device time, and how much of it is matrix multiplication."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row, row_numbers

PARTS = ("forward", "loss", "backward", "optimizer")
REST = "rest"
STEP = "step"
NOT_OPTIMIZER = "step without optimizer"


def part_of(path: str) -> str:
    """The part of a training step that a range's path lies in: one of PARTS, or REST."""
    below = path.split("/")[1:2]
    return below[0] if below and below[0] in PARTS else REST


def parts_of(step: pd.DataFrame) -> list[Row]:
    """A row per part of a training step, given all rows of kernels.csv of that phase of one case.

    ms and matmul_ms are device time per step, share is matmul_ms / ms. After the parts with any
    time follow STEP and NOT_OPTIMIZER. `evidence` holds row numbers. Empty unless backward and
    optimizer have ranges of their own.
    """
    part = step["path"].map(part_of)
    if not {"backward", "optimizer"} <= set(part):
        return []
    groups = {name: step[part == name] for name in (*PARTS, REST)}
    groups |= {STEP: step, NOT_OPTIMIZER: step[part != "optimizer"]}
    rows = [_row(name, mine, int(step["steps"].max())) for name, mine in groups.items()]
    return [row for row in rows if row["ms"] > 0]


def _row(name: str, mine: pd.DataFrame, steps: int) -> Row:
    ms = float(mine["busy_ns"].sum() / steps / 1e6)
    matmul = float(mine.loc[mine["family"] == "gemm", "busy_ns"].sum() / steps / 1e6)
    share = matmul / ms if ms > 0 else 0.0
    return {"part": name, "ms": ms, "matmul_ms": matmul, "share": share} | {
        "evidence": row_numbers(mine)
    }


def facts_of(case: str, parts: Sequence[Row]) -> list[Fact]:
    """The time of each part and its share of matrix multiplication, as facts."""
    return [
        Fact(case, f"train_step/{row['part']}/{name}", row[name], unit, "kernels", row["evidence"])
        for row in parts
        for name, unit in (("ms", "ms"), ("share", "1"))
    ]


def effects(forward_share: float, parts: Sequence[Row]) -> Row:
    """What moves the share from the forward pass's to the step's, as two changes that add up.

    by_backward: from the forward pass to the step without its optimizer; by_optimizer: from there
    to the whole step. backward_richer: backward's share minus that of the same step's forward.
    Empty without parts.
    """
    share = {row["part"]: row["share"] for row in parts}
    if not {"forward", "backward", STEP, NOT_OPTIMIZER} <= set(share):
        return {}
    return {
        "by_backward": share[NOT_OPTIMIZER] - forward_share,
        "by_optimizer": share[STEP] - share[NOT_OPTIMIZER],
        "backward_richer": share["backward"] - share["forward"],
    }
