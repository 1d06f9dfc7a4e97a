"""Pictures of time drawn as SVG: boxes whose coordinates are whole nanoseconds.

Each chart is an inner <svg> of class "zoom", whose viewBox is in nanoseconds; zooming changes that.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import escape

from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.markdown import number

WIDTH, LEFT = 1000, 90
"""Width of a picture, and of the labels of its lanes."""

FONT = 'font-family="system-ui, DejaVu Sans, sans-serif" font-size="11"'
EMPTY_HEIGHT = 24

# Light enough for dark names, and found by a search for colors that stay apart, also for readers
# who don't tell red from green.
COLORS = re.findall(
    r"\S+",
    "#FBBB87 #1BC3F3 #1CB657 #8EFAF9 #F7EA3C #F889AD #A78DB2 #AB79F5 #A3C003 #E3B7F8 #EAE8BA "
    "#A7D8C1 #E79D7B #BCDB3B #88BACE #EF6C22 #55AC89 #6D9BD5",
)


def palette(names: Iterable[str]) -> dict[str, str]:
    """A color for each name; after the last they start again."""
    return {name: COLORS[at % len(COLORS)] for at, name in enumerate(names)}


@dataclass(frozen=True)
class Boxes:
    """Boxes of one color in one lane; text: shows while one is hovered; spans: starts and lengths
    (ns)."""

    top: float
    height: float
    color: str
    text: str
    spans: Sequence[tuple[int, int]]

    def svg(self) -> str:
        """The boxes as one path."""
        high = f"{self.height:g}"
        outline = "".join(
            f"M{start} {self.top:g}h{length}v{high}h-{length}z" for start, length in self.spans
        )
        return f'<path fill="{self.color}" d="{outline}"><title>{escape(self.text)}</title></path>'


def merged(spans: Iterable[tuple[int, int]], resolution: int) -> list[tuple[int, int]]:
    """Spans in order of start, those with gaps below `resolution` (ns) as one."""
    found: list[tuple[int, int]] = []
    for start, length in spans:
        if found and start - sum(found[-1]) < resolution:
            first, before = found[-1]
            found[-1] = (first, max(before, start + length - first))
        else:
            found.append((start, length))
    return found


def chart(boxes: Sequence[Boxes], top: float, width_ns: int, height: float) -> str:
    """Boxes as an inner SVG that can be zoomed."""
    place = f'x="{LEFT}" y="{top:g}" width="{WIDTH - LEFT}" height="{height:g}"'
    view = f'viewBox="0 0 {max(width_ns, 1)} {height:g}" preserveAspectRatio="none"'
    inner = "".join(each.svg() for each in boxes)
    # Outside of the inner SVG, because browsers leave out rectangles as wide as a second.
    back = f'<rect {place} fill="#f4f4f4"/>'
    return f'{back}<svg class="zoom" {place} {view}>{inner}</svg>'


def label(text: str, x: float, y: float, anchor: str = "start", weight: str = "normal") -> str:
    """A line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}'
        "</text>"
    )


def legend(colors: Mapping[str, str], top: float) -> tuple[str, float]:
    """Names with their colors in rows, and their height."""
    parts, columns = [], 5
    wide = (WIDTH - LEFT) / columns
    for at, (name, color) in enumerate(colors.items()):
        x, y = LEFT + wide * (at % columns), top + 15 * (at // columns)
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="10" height="10" fill="{color}"/>')
        parts.append(label(name, x + 14, y + 9))
    return "".join(parts), 15.0 * -(-len(colors) // columns)


def picture(parts: Iterable[str], height: float) -> str:
    """A complete SVG of WIDTH times `height`."""
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT} fill="#1a1a1a">'
    back = f'<rect width="{WIDTH}" height="{height:g}" fill="#fff"/>'
    return "\n".join([opening, back, *parts, "</svg>"]) + "\n"


def milliseconds(ns: float) -> str:
    """A time as text: 12.3 ms."""
    return f"{number(ns / NS_PER_MS)} ms"
