"""The flame chart of a capture's device time, and findings' places in the picture of its step."""

import html
import re
from collections.abc import Iterable

import pandas as pd
from markupsafe import Markup

from workflow_src.paper.flame import Chart, Times, flame
from workflow_src.paper.html import figure
from workflow_src.paper.svg import LEFT, WIDTH, milliseconds

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


CHART = re.compile(r'<svg class="zoom"[^>]* y="([\d.]+)"[^>]*viewBox="0 0 (\d+) .*?</svg>', re.S)
RANGE = re.compile(r'd="M(\d+) (\d+)h(\d+)v8h[^>]*><title>(.*?): [^:]*</title>')
"""The chart of a step, and in it the first box of each name in the lanes of host ranges."""


def numbered(svg: str, places: Iterable[tuple[str, str]]) -> str:
    """A step's picture with a number where the range of each place (process, path) is, if it is
    drawn below the step: that of the path, or the nearest that it lies in."""
    chart = CHART.search(svg)
    if not chart:
        return svg
    top, wide = float(chart[1]), int(chart[2])
    boxes = [
        (int(x), int(y), int(w), html.unescape(name)) for x, y, w, name in RANGE.findall(chart[0])
    ]
    inner = [box for box in boxes if box[1] > 0]
    marks, taken = "", dict[tuple[int, int], int]()
    for number, (process, path) in enumerate(places, 1):
        names = [re.escape(each).replace(r"\*", r"\d+") for each in re.split(r"(?<!\\)/", path)]
        found = [box for name in names[::-1] for box in inner if re.fullmatch(name, box[3])]
        if not found or (process and f"of process {process}:" not in svg):
            continue
        x, y, w, _ = found[0]
        # Of one place several stand side by side.
        beside = taken[x, y] = taken.get((x, y), -1) + 1
        at = LEFT + (x + w / 2) * (WIDTH - LEFT) / wide + 16 * beside
        marks += (
            f'<circle cx="{at:.0f}" cy="{top + y + 4:.0f}" r="8"/>'
            f'<text x="{at:.0f}" y="{top + y + 8:.0f}" text-anchor="middle">{number}</text>'
        )
    return svg.replace("</svg>\n", f'<g class="places">{marks}</g></svg>\n') if marks else svg


def trace_button(path: str) -> Markup:
    """What saves the step's trace."""
    link = '<a class="button" href="{}" download>Save this step for Perfetto</a>'
    return Markup(f'<div class="note">{link}</div>').format(path)
