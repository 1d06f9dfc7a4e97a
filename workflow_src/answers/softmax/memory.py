"""How near softmax and attention's two products come to the rate of memory."""

import pandas as pd

from workflow_src.answers.tables import Tables
from workflow_src.common.operators import PRODUCTS
from workflow_src.common.units import MS_PER_S
from workflow_src.paper.value import Value, rows_of, value

BYTES_PER_GB = 1e9
GEMM = "gemm"
READ_AND_WRITTEN = ("copy", "scale", "triad")
"""The measurements of memory's rate that read and write, by name in ceilings.csv."""


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


def bandwidth(tables: Tables) -> Value | None:
    """The best rate (GB/s) of memory, both read and written; None without ceilings.csv.

    What only writes is faster, and no product does.
    """
    ceilings = tables["ceilings"]
    memory = ceilings[(ceilings["kind"] == "bandwidth") & ceilings["name"].isin(READ_AND_WRITTEN)]
    best = pd.to_numeric(memory["best_gb_per_s"], errors="coerce").dropna()
    if best.empty:
        return None
    top = memory.loc[[best.idxmax()]]
    return value(best.max(), "GB/s", rows_of("ceilings", top), formula="the best of all")
