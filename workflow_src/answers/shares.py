"""Shares of device time, and the kernels behind them."""

import pandas as pd

from workflow_src.answers.evidence import Row, row_numbers

WHOLE_TOLERANCE = 1e-9


def family_shares(rows: pd.DataFrame) -> dict[str, float]:
    """Each family's share of the device time of `rows` (of kernels.csv), largest first.

    Shares are of the total of `rows`, so pass every row of a phase, including those of the bare
    step range. Empty if the rows hold no time.
    """
    total = rows["busy_ns"].sum()
    if not total > 0:
        return {}
    busy = rows.groupby("family")["busy_ns"].sum()
    ordered = sorted(busy.items(), key=lambda item: (-item[1], str(item[0])))
    return {str(family): float(ns / total) for family, ns in ordered}


def by_kernel(rows: pd.DataFrame) -> list[Row]:
    """Kernels in `rows` (of kernels.csv), most device time first: one row per full name.

    calls_per_step is total calls over steps; `whole` says whether that is an integer. `share`
    is of the device time of all `rows`. `evidence` holds the row numbers.
    """
    total = rows["busy_ns"].sum()
    kernels = []
    for name, mine in rows.groupby("name", sort=True):
        steps = int(rows["steps"].max())
        calls = float(mine["calls"].sum() / steps)
        kernels.append(
            {
                "name": str(name),
                "short_name": str(mine["short_name"].iloc[0]),
                "kind": str(mine["kind"].iloc[0]),
                "family": str(mine["family"].iloc[0]),
                "calls_per_step": calls,
                "whole": abs(calls - round(calls)) < WHOLE_TOLERANCE,
                "busy_ns": int(mine["busy_ns"].sum()),
                "busy_ms_per_step": float(mine["busy_ns"].sum() / steps / 1e6),
                "share": float(mine["busy_ns"].sum() / total) if total > 0 else 0.0,
                "evidence": row_numbers(mine),
            }
        )
    return sorted(kernels, key=lambda kernel: (-kernel["busy_ns"], kernel["name"]))
