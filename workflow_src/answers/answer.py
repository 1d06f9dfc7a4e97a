"""What every question's result has, and how it is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workflow_src.answers.questions import QUESTIONS
from workflow_src.render import texts as paper
from workflow_src.render.show import Headline, Printer
from workflow_src.render.templates import render
from workflow_src.render.texts import Texts
from workflow_src.render.value import Cell


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


def texts(question: str, result: Result, headline: Headline, templates: Path) -> Texts:
    """An answer's texts, from its result, its headline and the templates of its question."""
    asked = QUESTIONS[question]
    about = {"question": question, "title": asked.title, "result": result, "headline": headline}
    said = {
        "question": question,
        "title": asked.title,
        "opening": [
            {"label": row.label, "cells": {name: _both(cell) for name, cell in row.cells.items()}}
            for row in result.opening
        ],
    }
    beside = (cell for row in result.opening for cell in row.cells.values())
    long = f"answers/{asked.room}.appendix.md.j2"

    def text(show: Printer) -> str:
        return render(templates, f"answers/{asked.room}.md.j2", show, **about)

    def appendix(show: Printer) -> str:
        return render(templates, long, show, **about) if (templates / long).is_file() else ""

    return paper.texts(text, appendix, said, headline, beside)


def _both(cell: Cell) -> dict[str, str]:
    """A cell as the report prints it, and as the page does."""
    return {"text": str(Printer()(cell)), "page": str(Printer(page=True)(cell))}


def failed(question: str, log: str) -> Texts:
    """The texts of an answer that could not be written."""
    title = QUESTIONS[question].title
    said: dict[str, object] = {"question": question, "title": title, "opening": []}
    return paper.failed(f"## ({question}) {title}", log, said)
