"""What answers, case cards and studies left for the report: their texts, and their JSON."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.paper.value import Rows, Value

EMPTY = Markup("")
CARD = re.compile(r'<article class="case" id="case-([^"]+)">.*?</article>', re.DOTALL)
"""A case's card in the page."""


@dataclass(frozen=True)
class Printed:
    """A text as the report has it, and as the page does, whose values are links."""

    text: Markup
    page: Markup

    def on(self, page: bool) -> Markup:
        """The page's or the report's."""
        return self.page if page else self.text


@dataclass(frozen=True)
class OpeningRow:
    """A row of the opening's table: its label, and a cell for each precision."""

    label: str
    cells: Mapping[str, Printed]


@dataclass(frozen=True)
class Part:
    """An answer, the case cards or a study's section.

    `body` is what the report says, `long` its part of the appendix. `log` tells why it could not be
    written; "" if it was. `cases` are the page's cards by case, of the case cards alone. `html` and
    `evidence` are those of a chapter that paper.written wrote, whose place the page's body has.
    """

    name: str
    title: str
    body: Printed
    long: Printed
    log: str
    opening: tuple[OpeningRow, ...]
    values: tuple[Value, ...]
    cases: Mapping[str, Markup]
    html: Markup = EMPTY
    evidence: Mapping[str, Any] = field(default_factory=dict)


def read_part(folder: Path, name: str) -> Part:
    """The part `name` in a folder. Raises StageError if a file of it is missing or damaged."""
    path = folder / f"{name}.json"
    with reading(path, "an answer's JSON", remake(path), StageError):
        said = json.loads(path.read_text(encoding="utf-8"))
        opening = tuple(_opening_row(row) for row in said.get("opening", []))
        values = tuple(map(_value, said.get("values", [])))
    text, page, html = _text(folder / f"{name}.md"), _text(folder / f"{name}.page.md"), Markup("")
    title = str(said.get("title", name))
    if "evidence" in said:
        html, page = page, Markup(f"{text.split()[0]} {title}\n\n@@{name}@@")
    long, lines = (
        _text(folder / f"{name}.appendix.{end}", optional=True) for end in ("md", "page.md")
    )
    cases = {case[1]: Markup(case[0]) for case in CARD.finditer(lines)}
    if cases:
        text, html, lines = EMPTY, Markup("\n").join(cases.values()), EMPTY
    return Part(
        name=name,
        title=title,
        body=Printed(text, page),
        long=Printed(long, lines),
        log=str(said.get("log", "")),
        opening=opening,
        values=values,
        cases=cases,
        html=html,
        evidence=said.get("evidence", {}),
    )


def _opening_row(row: Mapping[str, Any]) -> OpeningRow:
    cells = {
        str(name): Printed(Markup(cell["text"]), Markup(cell["page"]))
        for name, cell in row["cells"].items()
    }
    return OpeningRow(str(row["label"]), cells)


def _value(said: Mapping[str, Any]) -> Value:
    sources = [Rows(rows["table"], tuple(map(int, rows["rows"]))) for rows in said["sources"]]
    return Value(float(said["value"]), str(said["unit"]), tuple(sources), str(said["formula"]))


def _text(path: Path, optional: bool = False) -> Markup:
    """The Markdown in a file, unescaped; "" if it is `optional` and there is none."""
    if optional and not path.is_file():
        return Markup("")
    with reading(path, "Markdown", remake(path), StageError):
        return Markup(path.read_text(encoding="utf-8").strip())
