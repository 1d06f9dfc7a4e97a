"""One HTML page of chapters, which needs no other file and makes no request."""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

NUMBER = re.compile(r'<button class="n" value="(n\w+)">([^<]*)</button>')
"""See form.Form.number."""

IMPLIED = re.compile(r"</t[dr]>")
"""Ends of cells and rows, which HTML implies: a page has tens of thousands."""

MOST_LINES = 150
"""Of the lines of a table that a number rests on, the page has the first characters."""


def page(
    title: str,
    blocks: Sequence[str],
    evidence: Mapping[str, Mapping[str, Any]],
    contents: Mapping[str, str],
    templates: Path,
) -> str:
    """Chapters' HTML as one page.

    evidence: of all their numbers, by key. contents: what the bar at the top names, by id. Numbers
    get short keys; what has no evidence is text.
    """
    short: dict[str, str] = {}

    def renamed(number: re.Match[str]) -> str:
        name, text = number.groups()
        if name not in evidence:
            return text
        return f"<data value={short.setdefault(name, f'{len(short):x}')}>{text}</data>"

    body = IMPLIED.sub("", NUMBER.sub(renamed, "\n".join(blocks)))
    # Columns take a third less than rows.
    numbers = packed([*zip(*(_told(evidence[name]) for name in short), strict=True)])
    loader = jinja2.FileSystemLoader(templates)
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True)
    frame = made.get_template("page.html.j2")
    return frame.render(title=title, body=Markup(body), contents=contents, numbers=numbers) + "\n"


def packed(found: object) -> str:
    """A value as compressed JSON, as text; equal ones give equal text."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _told(why: Mapping[str, Any]) -> list[object]:
    """A number's evidence as page.js reads it."""
    ends = [f"{each:.4g}" for each in why.get("ends", ())]
    rows = {table: _first(lines) for table, lines in why["rows"].items()}
    return [f"{why['value']:.6g}", why["unit"], why["formula"], ends or None, rows]


def _first(lines: str) -> str:
    return lines if len(lines) < MOST_LINES else f"{lines[: MOST_LINES - 20]} ..."
