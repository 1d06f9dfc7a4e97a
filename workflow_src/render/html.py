"""From Markdown to one HTML page that needs no other file."""

import os
import re
from pathlib import Path

import jinja2
import markdown  # type: ignore[import-untyped,unused-ignore]
from markupsafe import Markup, escape

from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading


def to_html(text: str) -> str:
    """Markdown as HTML; raw HTML in it is shown as text, never passed through."""
    converter = markdown.Markdown(extensions=["tables", "sane_lists", "toc"])
    converter.preprocessors.deregister("html_block")
    converter.inlinePatterns.deregister("html")
    return str(converter.convert(text))


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
        label = match["label"]
        return f'<figure role="img" aria-label="{label}">{svg[start:]}</figure>'

    return re.sub(r'<img alt="(?P<label>[^"]*)" src="(?P<target>[^"]+\.svg)" />', drawing, body)


def make_html(text: str, folder: Path, templates: Path) -> str:
    """The Markdown `text`, with links relative to `folder`, as one self-contained HTML page."""
    body = inline_figures(to_html(text), folder)
    body = re.sub(r"<table>.*?</table>", r'<div class="table">\g<0></div>', body, flags=re.DOTALL)
    body = re.sub(r"<p>(<figure .*?</figure>)</p>", r"\1", body, flags=re.DOTALL)
    loader = jinja2.FileSystemLoader(templates)
    page = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    title = escape(text.splitlines()[0].lstrip("# "))
    return page.get_template("report.html.j2").render(title=title, body=Markup(body))
