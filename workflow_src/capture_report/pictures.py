"""What a page adds to the picture of a capture's step: the places of findings, its trace."""

import html
import re
from collections.abc import Iterable

from markupsafe import Markup

from workflow_src.paper.svg import LEFT, WIDTH

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
    whole, end, _ = svg.rpartition("</svg>")
    return f'{whole}<g class="places">{marks}</g>{end}\n' if marks else svg


def trace_button(path: str) -> Markup:
    """What saves the step's trace."""
    link = '<a class="button" href="{}" download>Save this step for Perfetto</a>'
    return Markup(f'<div class="note">{link}</div>').format(path)
