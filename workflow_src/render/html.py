"""From Markdown to one HTML page that needs no other file and makes no request."""

import os
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import jinja2
import markdown  # type: ignore[import-untyped,unused-ignore]
from markdown.extensions.toc import TocExtension  # type: ignore[import-untyped,unused-ignore]
from markupsafe import Markup

from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.render.rows import Axes, with_data

LONG = 12
"""A table with more rows is one to search, sort and filter."""

HINT = "Point at a box, tap it, or choose it by the arrows up and down: it says more here."
TELLING = Markup(
    '<figcaption><span><button type="button" value="+">Zoom in</button> '
    '<button type="button" value="-">Zoom out</button> '
    '<button type="button" value="0">Reset</button></span><output>{}</output></figcaption>'
).format(HINT)
"""What stands below a picture with charts to zoom."""

HEADING = re.compile(r'<h\d id="([^"]*)"[^>]*>(.*?)</h')
FIRST = re.compile(r"<th[^>]*>(.*?)</th>")
CELL = re.compile(
    r'<td(?: style="text-align: (?P<side>\w+);")?>(?P<text>[^<]*)(?=(?P<rest>.*?)</td>)'
)
TAG = re.compile(r"<[^>]*>")
LONG_WORD = re.compile(r"\S{20}")
"""What is broken where paper is too narrow for it: a kernel's name."""

WIDE = 24
"""A cell with more characters than this may be broken into lines on a screen; others may not."""

PLACE = re.compile(r"<p>@@([^@<]+)@@</p>")
OUTWARD = re.compile(r'<a href="(?P<target>(?!#|https?:)[^"]*)">(?P<text>.*?)</a>', re.DOTALL)

EXPORTED = re.compile(r"export\s*\{.*?\b([\w$]+) as default\b.*?\};?", re.DOTALL)


def to_html(text: str) -> tuple[str, str]:
    """Markdown as HTML, and its contents as a list of links.

    Raw HTML in the Markdown is shown as text, never passed through.
    """
    contents = TocExtension(toc_depth="2-3")
    converter = markdown.Markdown(extensions=["tables", "sane_lists", contents])
    converter.preprocessors.deregister("html_block")
    converter.inlinePatterns.deregister("html")
    body = str(converter.convert(text))
    return body, str(converter.toc)  # type: ignore[attr-defined,unused-ignore]


def inline_figures(body: str, folder: Path) -> str:
    """`body` with each image of an .svg file under `folder` replaced by the SVG itself.

    Raises StageError for a figure that is missing or isn't an SVG.
    """

    def drawing(match: re.Match[str]) -> str:
        # Normalized, because a folder that is still to be made has no parent to step back to.
        path = Path(os.path.normpath(folder / match["target"]))
        with reading(path, "an SVG", remake(path), StageError):
            svg = path.read_text(encoding="utf-8")
            start = svg.index("<svg")
        return figure(_own_ids(_slim(svg[start:]), path.stem), Markup(match["label"]))

    return re.sub(r'<img alt="(?P<label>[^"]*)" src="(?P<target>[^"]+\.svg)" />', drawing, body)


def figure(svg: str, label: str) -> Markup:
    """An SVG as a figure. One with charts to zoom is a group, so that their boxes can be read."""
    role, caption = ("group", TELLING) if 'class="zoom"' in svg else ("img", "")
    opening = Markup('<figure role="{}" aria-label="{}" tabindex="0">').format(role, label)
    return opening + Markup(svg) + caption + Markup("</figure>")


def _slim(svg: str) -> str:
    """An SVG of matplotlib's in fewer bytes: no indents, no names of groups, hundredths of a point.

    A page has many, and their coordinates have six decimals.
    """
    svg = re.sub(r"\n +", "\n", svg).replace("\n\n", "\n")
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _rounded, tag[0]), svg)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _own_ids(svg: str, name: str) -> str:
    """An SVG whose ids no other SVG of the page has."""
    return re.sub(r'((?<!\w)id="|href="#|url\(#)', rf"\g<1>{name}-", svg)


def framed_tables(body: str) -> str:
    """Each table in a box of its own that scrolls; one with many rows is of class "long".

    Not that of one thing, whose first heading is that of its section: its rows aren't of a kind.

    Before that is a box for its tools, which scripts fill; its title is the heading's id.
    """
    numbers = count(1)

    def framed(match: re.Match[str]) -> str:
        table = match[0]
        long, tools = "", ""
        title, said = (HEADING.findall(body, 0, match.start()) or [("", "")])[-1]
        if table.count("<tr>") - 1 > LONG and FIRST.findall(table)[:1] != [said]:
            long, tools = ' class="long"', f'<div class="tools" data-title="{title}"></div>'
        label = f'role="group" aria-label="table {next(numbers)}"'
        table = CELL.sub(_classed, table).replace("<table>", f"<table{long}>", 1)
        return f'{tools}<div class="table" tabindex="0" {label}>{table}</div>'

    return re.sub(r"<table>.*?</table>", framed, body, flags=re.DOTALL)


def _classed(cell: re.Match[str]) -> str:
    """The start of a cell with short classes, because a page has tens of thousands of cells."""
    right, word = cell["side"] == "right", bool(LONG_WORD.search(cell["text"]))
    wide = len(TAG.sub("", cell["text"] + cell["rest"])) > WIDE
    classes = " ".join(["right"] * right + ["word"] * word + ["wide"] * wide)
    return (f'<td class="{classes}">' if classes else "<td>") + cell["text"]


def _as_code(link: re.Match[str]) -> str:
    """A link to a file that the page's readers needn't have."""
    return f"{link['text']} (<code>{link['target']}</code>)"


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
    parts: Mapping[str, Markup] | None = None,
    plan: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The Markdown `text`, with links relative to `folder`, as one self-contained HTML page.

    A paragraph that says only @@name@@ is replaced by the HTML that `parts` has under that name. A
    link to a file becomes its text and, as code, its target. Long tables are filtered by the axes
    of the cases of `plan`, or by those that they name.
    """
    converted, contents = to_html(text)
    body = framed_tables(inline_figures(converted, folder))
    body = re.sub(r"<p>(<figure .*?</figure>)</p>", r"\1", body, flags=re.DOTALL)
    body = PLACE.sub(
        lambda place: (parts or {}).get(place[1], place[0]), OUTWARD.sub(_as_code, body)
    )
    axes = Axes.of(body, plan)
    body = with_data(body, axes)
    style, program = data_tables() if 'class="long"' in body else (Markup(), Markup())
    title = next(line for line in text.splitlines() if line.startswith("# ")).lstrip("# ")
    return html_template(templates, "report.html.j2").render(
        title=title,
        body=Markup(body),
        contents=Markup(contents),
        filters=axes.values,
        table_style=style,
        table_program=program,
    )


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
