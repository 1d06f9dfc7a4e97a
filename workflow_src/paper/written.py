"""A chapter: facts out of a run's tables, and templates whose blocks are printed in two forms.

`facts(run)` gives what the templates name: Numbers, texts and frames of both, the name of the
`verdict`, and a `figure` (a figures.Plot), if there is one. Templates have blocks and nothing else;
what a second template has of a block follows that of the first.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, attempt, one_sentence
from workflow_src.common.reading import reading
from workflow_src.paper.form import Form
from workflow_src.paper.html import inlined
from workflow_src.paper.run import Run

Facts = dict[str, Any]
LINES, TEXTS = ("title", "question", "headline"), ("section", "tables", "appendix")
"""The blocks of one line, and those of paragraphs, tables and figures."""

FILTERS = ("count", "table", "rows", "matrix", "cards", "card", "link", "figure", "marked")
"""Methods of Form."""

FORM = "_form"
"""The name of the Form in a template's context."""

FORMS = ("md", "html", "appendix.md", "appendix.html")
"""Ends of the names of a chapter's texts, whose templates are chapter.{form}.j2."""


@dataclass(frozen=True)
class Written:
    """A chapter as it is printed.

    level: of its heading. log: what tells why it could not be written; "" if it was. opening: rows
    for the report's opening.
    """

    name: str
    markdown: Mapping[str, str]
    html: Mapping[str, str]
    evidence: Mapping[str, Any]
    verdict: str
    level: str = "##"
    log: str = ""
    opening: Sequence[Mapping[str, Any]] = ()

    def write(self, folder: Path, templates: Path) -> None:
        """Write its texts and {name}.json."""
        for form in FORMS:
            write_text(folder / f"{self.name}.{form}", self.text(form, templates) + "\n")
        said = json.dumps(self.said(), indent=1, ensure_ascii=False)
        write_text(folder / f"{self.name}.json", said + "\n")

    def text(self, form: str, templates: Path, frame: str = "chapter") -> str:
        """Its blocks in one of FORMS, or in another frame: of HTML, the sections of a page."""
        made = _environment(templates).get_template(f"{frame}.{form}.j2")
        return re.sub(r"\n{3,}", "\n\n", made.render(chapter=self)).strip()

    def said(self) -> dict[str, Any]:
        """Its lines, its verdict, and the evidence of each printed number."""
        lines = {name: self.markdown[name] for name in LINES}
        said: dict[str, Any] = {"name": self.name, "level": self.level, "verdict": self.verdict}
        said |= lines | {"html": {name: self.html[name] for name in LINES}}
        said |= {"opening": self.opening}
        return said | ({"log": self.log} if self.log else {}) | {"evidence": self.evidence}


def render(templates: Path, names: Sequence[str], facts: Facts, form: Form) -> dict[str, str]:
    """Each block of some templates, in a form. Raises StageError for an invalid template."""
    made = _environment(templates, prints=True)
    texts: dict[str, str] = {}
    for name in names:
        with reading(templates / name, "a template", "mend it", StageError):
            parsed = _template(made, name)
        context = parsed.new_context({**facts, FORM: form})
        for block, lines in parsed.blocks.items():
            texts[block] = texts.get(block, "") + "\n\n" + "".join(lines(context))
    one: dict[str, str] = {name: form.line(texts.get(name, "")) for name in LINES}
    return one | {name: form.prose(texts.get(name, "")) for name in TEXTS}


@cache
def _environment(templates: Path, prints: bool = False) -> jinja2.Environment:
    """That of a folder's templates; prints: by the form in their context, and not as texts."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        autoescape=prints,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_of_form("cell") if prints else None,
    )
    made.filters |= {name: _of_form(name) for name in FILTERS} if prints else {}
    return made


def _of_form(method: str) -> Callable[..., Markup]:
    """A method of the form that a template is printed in."""

    @jinja2.pass_context
    def call(context: Mapping[str, Any], /, *given: Any, **named: Any) -> Markup:
        made: Markup = getattr(context[FORM], method)(*given, **named)
        return made

    return call


def _template(made: jinja2.Environment, name: str) -> jinja2.Template:
    try:
        return made.get_template(name)
    except jinja2.TemplateSyntaxError as error:
        raise ValueError(f"line {error.lineno}: {error.message}") from None


def write(
    name: str,
    facts: Callable[[], Facts],
    templates: Path,
    names: Sequence[str],
    picture: Path | None = None,
    level: str = "##",
    log: str = "its log",
    drawing: str = "",
    short: Callable[[Facts], Facts] = dict,
) -> Written:
    """The chapter of some facts, and its figure as an SVG at `picture`.

    drawing: the SVG that is there already. short: what Markdown has of the facts. After a defect, a
    chapter that says so and names the log; StageError passes.
    """

    def told(found: Facts, these: Sequence[str], log: str) -> Written:
        plot, svg = found.get("figure"), drawing
        if picture and not drawing:
            if plot:
                # Imported for a figure alone: reading captures takes no matplotlib.
                from workflow_src.paper.drawing import drawn

                svg = drawn(plot.draw, f"chapter_{name}", log or "its log")
            write_text(picture, svg or EMPTY)
        place = picture.as_posix() if picture and svg else ""
        forms = [Form(False, place), Form(True, place, inlined(svg, name) if svg else "")]
        pairs = zip((short(found), found), forms, strict=True)
        markdown, html = (render(templates, these, each, form) for each, form in pairs)
        verdict = str(found.get("verdict", ""))
        opening = _opening(found.get("opening"), forms)
        return Written(name, markdown, html, forms[1].evidence, verdict, level, log, opening)

    failed = {"chapter": name, "log": log, "verdict": "failed"}
    return attempt(
        lambda: told(facts(), names, ""), lambda: told(failed, ["chapter.failed.j2"], log)
    )


def _opening(rows: pd.DataFrame | None, forms: Sequence[Form]) -> list[dict[str, Any]]:
    """The rows of a table of medians in both forms, for the report's opening."""
    if rows is None:
        return []
    kinds = {"text": forms[0], "page": forms[1]}
    found = []
    for label, *row in rows.itertuples(index=False, name=None):
        cells = zip(rows.columns[1:], row, strict=True)
        printed = {name: {k: str(form.cell(c)) for k, form in kinds.items()} for name, c in cells}
        found.append({"label": label, "cells": printed})
    return found


EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>\n'
"""What is drawn without a figure."""


def _existing(text: str) -> Path:
    return existing_folder(text) if os.path.isdir(text) else existing_file(text)


@one_sentence()
def main(
    name: str,
    facts: Callable[[Run], Facts],
    names: Sequence[str] = (),
    level: str = "##",
    tables: Sequence[str] = (),
    arguments: Sequence[str] | None = None,
) -> None:
    """Write a chapter's texts into a folder.

    tables: what it reads of a folder of them; at least one has to be there.
    """
    parser = Parser(description=f"Write the chapter {name}.")
    about = "CSVs to read, JSON of other chapters, or the folder that has the CSVs"
    parser.add_argument("--tables", type=_existing, nargs="+", required=True, help=about)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=existing_folder, required=True, help="folder of its texts")
    parser.add_argument("--figure", type=new_file, help="the SVG to draw")
    parser.add_argument("--log", default="its log", help="what a failed chapter refers to")
    given = parser.parse_args(arguments)
    folders = [path for path in given.tables if path.is_dir()]
    files = [path for path in given.tables if path not in folders]
    run = Run([*files, *(folder / f"{table}.csv" for folder in folders for table in tables)])
    if tables and run.files.keys().isdisjoint(tables):
        raise StageError(f"--tables: give {' or '.join(tables)}.csv, from which {name} is written")
    made = write(
        name, lambda: facts(run), given.templates, names, given.figure, level=level, log=given.log
    )
    made.write(given.output, given.templates)
