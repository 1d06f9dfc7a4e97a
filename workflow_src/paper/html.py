"""From Markdown to one HTML page that needs no other file and makes no request."""

import os
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
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

EXPORTED = re.compile(r"export\s*\{.*?\b([\w$]+) as default\b.*?\};?", re.DOTALL)


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
    drawn = _slim(svg[svg.index("<svg") :])
    return re.sub(r'((?<!\w)id="|href="#|url\(#)', rf"\g<1>{name}-", drawn)


def _slim(svg: str) -> str:
    """An SVG of matplotlib's in fewer bytes: no indents, no names of groups, hundredths of a point.

    A page has many, and their coordinates have six decimals.
    """
    svg = re.sub(r"\n +", "\n", svg).replace("\n\n", "\n")
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _rounded, tag[0]), svg)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def data_tables() -> tuple[Markup, Markup]:
    """DataTables (datatables.net) as a style sheet, and as a program that defines `DataTable`.

    Both come with the package itables. Raises StageError if it isn't there, or is another version.
    """
    found = find_spec("itables")
    if found is None or found.origin is None:
        raise StageError("the package itables is missing; install the packages of locks/")
    folder = Path(found.origin).with_name("html")
    advice = "install the version of itables that requirements.txt names"
    with reading(folder, "DataTables", advice, StageError):
        style = (folder / "dt_bundle.css").read_text(encoding="utf-8")
        program = (folder / "dt_bundle.js").read_text(encoding="utf-8")
        exported = EXPORTED.search(program)
        if exported is None:
            raise ValueError("no default export")
    start, end = exported.span()
    program = f"{program[:start]}const DataTable = {exported[1]};{program[end:]}"
    # What an HTML parser would take for the start or the end of a script.
    return Markup(style), Markup(re.sub(r"<(?=/script|script|!--)", r"\\x3c", program))


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
    made, axes = _page_tables(every, prose, plan)
    body = inline_figures(prose.body, folder)
    body = re.sub(r"<p>(<figure .*?</figure>)</p>", r"\1", body, flags=re.DOTALL)
    places = {**given, **made}
    body = OUTWARD.sub(r"\g<text> (<code>\g<target></code>)", body)
    body = PLACE.sub(lambda place: str(places.get(place[1], place[0])), body)
    style, program = data_tables() if 'class="long"' in body else (Markup(), Markup())
    title = next(line for line in text.splitlines() if line.startswith("# ")).lstrip("# ")
    return html_template(templates, "report.html.j2").render(
        title=title,
        body=Markup(body),
        contents=Markup(prose.contents),
        filters=axes.values,
        table_style=style,
        table_program=program,
    )


def _page_tables(
    tables: Mapping[str, PageTable], prose: Prose, plan: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Markup], Axes]:
    """The HTML of the tables at places of a page, and what the long ones are filtered by."""
    above = {name: prose.sections[name] for name in tables}
    long = {name for name, table in tables.items() if table.is_long(above[name][1])}
    axes = Axes.of(
        ((each.heads, each.texts) for name, each in tables.items() if name in long), plan
    )
    made = {
        name: table.html(table.label or name, table.title or above[name][0], name in long, axes)
        for name, table in tables.items()
    }
    return made, axes


def html_template(templates: Path, name: str) -> jinja2.Template:
    """A template of HTML, which escapes all values but Markup."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).get_template(name)
