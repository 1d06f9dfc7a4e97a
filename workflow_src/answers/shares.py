"""Shares of device time, and the kernels behind them."""

import pandas as pd

from workflow_src.answers.evidence import Row

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
    if rows.empty:
        return []
    total, steps = rows["busy_ns"].sum(), int(rows["steps"].max())
    groups = rows.groupby("name", sort=True)
    sums = groups[["calls", "busy_ns"]].sum()
    about = groups[["short_name", "kind", "family"]].first().astype(str).to_dict("index")
    kernels: list[Row] = []
    for name, calls, ns in sums.itertuples():
        calls_per_step = float(calls / steps)
        kernels.append(
            {
                "name": str(name),
                **{str(column): text for column, text in about[name].items()},
                "calls_per_step": calls_per_step,
                "whole": abs(calls_per_step - round(calls_per_step)) < WHOLE_TOLERANCE,
                "busy_ns": int(ns),
                "busy_ms_per_step": float(ns / steps / 1e6),
                "share": float(ns / total) if total > 0 else 0.0,
                "evidence": tuple(int(number) for number in groups.groups[name]),
            }
        )
    return sorted(kernels, key=lambda kernel: (-kernel["busy_ns"], kernel["name"]))
