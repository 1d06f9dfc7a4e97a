"""How near softmax and attention's two products come to the rate of memory."""

import pandas as pd

from workflow_src.common.operators import PRODUCTS
from workflow_src.common.units import MS_PER_S
from workflow_src.paper.value import Value, rows_of, value

BYTES_PER_GB = 1e9
GEMM = "gemm"


def products(*inside: pd.DataFrame) -> pd.DataFrame:
    """The matrix products among the operators in some ranges, rows of operators.csv.

    Without what a library clears before some: its time isn't theirs, and it has no shapes.
    """
    rows = pd.concat(inside)
    return rows[rows["operator"].isin(PRODUCTS) & (rows["family"] == GEMM)] if len(rows) else rows


def moved(rows: pd.DataFrame) -> Value | None:
    """The GB/s of operators together, given their rows of operators.csv.

    Bytes are those of operands and results, each read or written once; None if they aren't known.
    """
    if rows.empty or not (rows["bytes_per_step"] > 0).all():
        return None
    ms = rows["busy_ms_per_step"].sum()
    rate = rows["bytes_per_step"].sum() / BYTES_PER_GB / (ms / MS_PER_S) if ms > 0 else None
    return value(rate, "GB/s", rows_of("operators", rows), formula="bytes by shapes / time")
