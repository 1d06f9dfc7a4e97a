"""From Markdown to one HTML page that needs no other file and makes no request."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.paper.page import page
from workflow_src.paper.page_table import PageTable, taken_out
from workflow_src.paper.prose import Prose
from workflow_src.paper.rows import Axes

HINT = "Point at a box, tap it, or choose it by the arrows up and down: it says more here."
TELLING = Markup(
    '<figcaption><span><button type="button" value="+">Zoom in</button> '
    '<button type="button" value="-">Zoom out</button> '
    '<button type="button" value="0">Reset</button></span><output>{}</output></figcaption>'
).format(HINT)
"""What stands below a picture with charts to zoom."""

PLACE = re.compile(r"<p>@@([^@<]+)@@</p>")
OUTWARD = re.compile(r'<a href="(?P<target>(?!#|https?:)[^"]*)">(?P<text>.*?)</a>', re.DOTALL)


def inline_figures(body: str, folder: Path) -> str:
    """`body` with each image of an .svg file under `folder` replaced by the SVG itself.

    Raises StageError for a figure that is missing or isn't an SVG.
    """

    def drawing(match: re.Match[str]) -> str:
        # Normalized, because a folder that is still to be made has no parent to step back to.
        path = Path(os.path.normpath(folder / match["target"]))
        with reading(path, "an SVG", remake(path), StageError):
            svg = path.read_text(encoding="utf-8")
            svg = inlined(svg, path.stem)
        return figure(svg, Markup(match["label"]))

    return re.sub(r'<img alt="(?P<label>[^"]*)" src="(?P<target>[^"]+\.svg)" />', drawing, body)


def figure(svg: str, label: str) -> Markup:
    """An SVG as a figure. One with charts to zoom is a group, so that their boxes can be read."""
    role, caption = ("group", TELLING) if 'class="zoom"' in svg else ("img", "")
    opening = Markup('<figure role="{}" aria-label="{}" tabindex="0">').format(role, label)
    return opening + Markup(svg) + caption + Markup("</figure>")


def inlined(svg: str, name: str) -> str:
    """An SVG as a part of a page, of which no other has its ids; ValueError if it isn't one."""
    drawn = _slim(svg[svg.index("<svg") :], name)
    short: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return found[1] + short.setdefault(found[2], f"{name}.{len(short):x}")

    return re.sub(r'((?<!\w)id="|href="#|url\(#)([^")]+)', renamed, drawn)


def _slim(svg: str, name: str) -> str:
    """An SVG of matplotlib's in fewer bytes: no indents, no names of groups, hundredths of a point,
    each style once.

    A page has many, half of whose bytes are styles that say the same again.
    """
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\n +", "\n", svg).replace("\n\n", "\n")
    svg = re.sub(r'<g id="[^"]*">', "<g>", re.sub(r' transform="rotate\(-0 [^"]*"', "", svg))
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _rounded, tag[0]), svg)
    styles: dict[str, str] = {}

    def classed(found: re.Match[str]) -> str:
        return f' class="{styles.setdefault(found[1], f"{name}-{len(styles)}")}"'

    svg = re.sub(r' style="([^"]*)"', classed, _flat(svg)).replace("xlink:href", "href")
    rules = "".join(f".{each}{{{style}}}" for style, each in styles.items())
    return re.sub(r"(<svg[^>]*>)", rf"\1<style>{rules}</style>", svg, count=1) if rules else svg


def _flat(svg: str) -> str:
    """An SVG without groups that say nothing."""
    kept: list[bool] = []

    def group(tag: re.Match[str]) -> str:
        if tag[0] != "</g>":
            kept.append(tag[0] != "<g>")
        is_kept = kept[-1] if tag[0] != "</g>" else kept.pop()
        return tag[0] if is_kept else ""

    return re.sub(r"\n\n+", "\n", re.sub(r"<g(?: [^>]*[^/])?>|</g>", group, svg))


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def make_html(
    text: str,
    folder: Path,
    templates: Path,
    parts: Mapping[str, Markup | PageTable] | None = None,
    plan: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The Markdown `text`, with links relative to `folder`, as one self-contained HTML page.

    A paragraph that says only @@name@@ is replaced by the HTML that `parts` has under that name. A
    link to a file becomes its text and, as code, its target. Long tables are filtered by the axes
    of the cases of `plan`, or by those that they name.
    """
    marked, tables = taken_out(text)
    prose, given = Prose(marked), parts or {}
    every = {f"table {place}": table for place, table in enumerate(tables, 1)}
    every |= {
        name: part
        for name, part in given.items()
        if isinstance(part, PageTable) and name in prose.sections
    }
    made = _page_tables(every, prose, plan)
    body = inline_figures(prose.body, folder)
    body = re.sub(r"<p>(<figure .*?</figure>)</p>", r"\1", body, flags=re.DOTALL)
    places = {**given, **made}
    body = OUTWARD.sub(r"\g<text> (<code>\g<target></code>)", body)
    body = PLACE.sub(lambda place: str(places.get(place[1], place[0])), body)
    title = next(line for line in text.splitlines() if line.startswith("# ")).lstrip("# ")
    return page(title, [body], {}, {}, templates)


def _page_tables(
    tables: Mapping[str, PageTable], prose: Prose, plan: Sequence[Mapping[str, Any]]
) -> dict[str, Markup]:
    """The HTML of the tables at places of a page, and what the long ones are filtered by."""
    above = {name: prose.sections[name] for name in tables}
    long = {name for name, table in tables.items() if table.is_long(above[name][1])}
    axes = Axes.of(
        ((each.heads, each.texts) for name, each in tables.items() if name in long), plan
    )
    return {
        name: table.html(table.label or name, table.title or above[name][0], name in long, axes)
        for name, table in tables.items()
    }
