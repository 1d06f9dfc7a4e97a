"""Pictures of a capture: a flame chart of its device time, and the step that was drawn."""

import os
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.capture_report.result import Captured
from workflow_src.paper.flame import Chart, Times, flame
from workflow_src.paper.html import figure
from workflow_src.paper.markdown import escape
from workflow_src.paper.svg import milliseconds

SLASH = "\N{DIVISION SLASH}"
"""Stands for a slash in a range's name where "/" separates names."""


def flame_chart(name: str, kernels: pd.DataFrame) -> Markup:
    """The device time of a capture by range path, a chart per process; "" for a single path."""
    if kernels["path"].nunique() < 2:
        return Markup("")
    charts = [_chart(process, rows) for process, rows in kernels.groupby("process")]
    return figure(flame(charts, []), f"Flame chart of {name}")


def _chart(process: object, rows: pd.DataFrame) -> Chart:
    paths = rows["path"].astype(str).str.replace("\\/", SLASH, regex=False)
    sums = rows.assign(path=paths).groupby(["path", "family"], as_index=False)["busy_ns"].sum()
    columns = sums["path"], sums["family"].astype(str), sums["busy_ns"].tolist()
    times: Times = {(path, family): ns for path, family, ns in zip(*columns, strict=True)}
    total = sum(times.values())
    return Chart(f"process {process}: {milliseconds(total)} ({total:,} ns)", times)


def step_image(found: Captured, folder: Path, beside: Path) -> Markup:
    """A Markdown image of the capture's step in a folder, for a file beside; "" without steps."""
    path = folder / "step.svg"
    if found.tables["steps"].empty or not path.is_file():
        return Markup("")
    label = f"A step of {escape(found.name)}: host ranges, launches, device work, idle time"
    return Markup(f"![{label}]({Path(os.path.relpath(path, beside)).as_posix()})")
