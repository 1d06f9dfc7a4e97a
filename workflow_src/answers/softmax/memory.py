"""How near attention's two products come to the rate of memory."""

import pandas as pd

from workflow_src.answers.tables import Tables
from workflow_src.common.operators import PRODUCTS
from workflow_src.common.units import MS_PER_S
from workflow_src.paper.value import Value, rows_of, value

BYTES_PER_GB = 1e9
READ_AND_WRITTEN = ("copy", "scale", "triad")
"""The measurements of memory's rate that read and write, by name in ceilings.csv."""


def moved(scores: pd.DataFrame, values: pd.DataFrame) -> Value | None:
    """The GB/s of QK^T and AV together, given the rows of operators.csv in their ranges.

    Bytes are those of factors and results, each read or written once; None if they aren't known.
    """
    rows = pd.concat([scores, values])
    mine = rows[rows["operator"].isin(PRODUCTS)] if len(rows) else rows
    if mine.empty or not (mine["bytes_per_step"] > 0).all():
        return None
    ms = mine["busy_ms_per_step"].sum()
    rate = mine["bytes_per_step"].sum() / BYTES_PER_GB / (ms / MS_PER_S) if ms > 0 else None
    return value(rate, "GB/s", rows_of("operators", mine), formula="bytes by shapes / time")


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
