"""What every question's result has, and its forms on paper: Markdown, the page's, and JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from markupsafe import Markup

from workflow_src.answers.questions import QUESTIONS
from workflow_src.render.show import Headline, Printer
from workflow_src.render.templates import render
from workflow_src.render.value import Cell, Value


@dataclass(frozen=True)
class OpeningRow:
    """A row of the report's table of medians: its literal label, and a cell per precision."""

    label: str
    cells: Mapping[str, Cell]


class Result(Protocol):
    """A question's result: a frozen dataclass with its values and tables, and at least these."""

    @property
    def opening(self) -> tuple[OpeningRow, ...]:
        """The rows that it adds to the report's table of medians."""

    @property
    def unanswered(self) -> tuple[tuple[str, str], ...]:
        """(case, state) of the cases that lack what the question asks about, and why."""


@dataclass(frozen=True)
class Texts:
    """An answer as written: Markdown, the same for the page, the long tables, and JSON."""

    markdown: str
    page: str
    appendix: str
    appendix_page: str
    json: str


def texts(question: str, result: Result, headline: Headline, templates: Path) -> Texts:
    """An answer's texts, from its result, its headline and the templates of its question."""
    plain, linked = Printer(), Printer(page=True)
    room = QUESTIONS[question].room
    about: dict[str, object] = {"question": question, "title": QUESTIONS[question].title}
    about |= {"result": result, "headline": headline}
    names = (f"answers/{room}.md.j2", f"answers/{room}.appendix.md.j2")
    written = {
        (name, show.page): render(templates, name, show, **about)
        if (templates / name).is_file()
        else ""
        for name in names
        for show in (plain, linked)
    }
    said = _json(question, result, headline, linked.printed)
    return Texts(
        markdown=written[names[0], False],
        page=written[names[0], True],
        appendix=written[names[1], False],
        appendix_page=written[names[1], True],
        json=json.dumps(said, indent=1, ensure_ascii=False) + "\n",
    )


def _json(
    question: str, result: Result, headline: Headline, printed: list[Value]
) -> dict[str, object]:
    """An answer for programs: its verdict, its rows of the opening, and the values it prints."""
    plain, linked = Printer(), Printer(page=True)
    opening = [
        {"label": row.label, "cells": {name: _both(cell) for name, cell in row.cells.items()}}
        for row in result.opening
    ]
    for row in result.opening:
        for cell in row.cells.values():
            linked(cell)
    headline.text(linked)
    return {
        "question": question,
        "title": QUESTIONS[question].title,
        "verdict": headline.verdict.name.lower(),
        "headline": str(headline.text(plain)),
        "opening": opening,
        "unanswered": [list(each) for each in result.unanswered],
        "values": [for_programs(each) for each in dict.fromkeys([*printed, *linked.printed])],
    }


def _both(cell: Cell) -> dict[str, str]:
    """A cell as the report prints it, and as the page does."""
    return {"text": str(Printer()(cell)), "page": str(Printer(page=True)(cell))}


def for_programs(value: Value) -> dict[str, object]:
    """A printed value with its key and its sources, as JSON."""
    sources = [{"table": rows.table, "rows": list(rows.numbers)} for rows in value.sources]
    number = value.number if value.number != int(value.number) else int(value.number)
    about = {"key": value.key, "value": number, "unit": value.unit, "formula": value.formula}
    return about | {"sources": sources}


def failed(question: str, log: str) -> Texts:
    """The texts of an answer that could not be written."""
    title = QUESTIONS[question].title
    text = f"## ({question}) {title}\n\nThis answer could not be written: see `{Markup(log)}`.\n"
    said: dict[str, object] = {
        "question": question,
        "title": title,
        "verdict": "failed",
        "headline": "",
        "log": log,
    }
    said |= {"opening": [], "unanswered": [], "values": []}
    return Texts(text, text, "", "", json.dumps(said, indent=1) + "\n")
