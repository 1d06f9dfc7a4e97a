"""The flame chart of a capture's device time by range path."""

import pandas as pd
from markupsafe import Markup

from workflow_src.paper.flame import Chart, Times, flame
from workflow_src.paper.html import figure
from workflow_src.paper.svg import milliseconds

SLASH = "\N{DIVISION SLASH}"
"""Stands for a slash in a range's name where "/" separates names."""


def flame_chart(name: str, kernels: pd.DataFrame) -> Markup:
    """A chart per process as the HTML of a page; "" for a single path."""
    if kernels["path"].nunique() < 2:
        return Markup("")
    charts = [_chart(process, rows) for process, rows in kernels.groupby("process", sort=False)]
    return figure(flame(charts, []), f"Flame chart of {name}")


def _chart(process: object, rows: pd.DataFrame) -> Chart:
    paths = rows["path"].str.replace("\\/", SLASH, regex=False)
    sums = rows.assign(path=paths).groupby(["path", "family"], as_index=False)["busy_ns"].sum()
    ns = sums["busy_ns"].astype(int).tolist()
    times: Times = dict(zip(zip(sums["path"], sums["family"], strict=True), ns, strict=True))
    return Chart(f"process {process}: {milliseconds(sum(ns))} ({sum(ns):,} ns)", times)
