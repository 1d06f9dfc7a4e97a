"""The chapters that answer the questions, and what the result of each has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from workflow_src.answers.questions import QUESTIONS
from workflow_src.answers.tables import Tables
from workflow_src.paper.chapter import Chapter, Words
from workflow_src.paper.show import Headline, Printer
from workflow_src.paper.value import Cell


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


R = TypeVar("R", bound=Result)


def answer(
    question: str, result: Callable[[Tables], R], headline: Callable[[R], Headline]
) -> Chapter[Tables, R]:
    """The chapter that answers a question."""
    asked = QUESTIONS[question]
    named = {"question": question, "title": asked.title}
    return Chapter(
        heading=f"## ({question}) {asked.title}",
        template=f"answers/{asked.room}",
        result=result,
        headline=headline,
        named={**named, "opening": []},
        words=lambda tables, result, whole: named,
        beside=_opening,
    )


def _opening(result: Result, show: Printer) -> Words:
    """The rows for the report's table of medians, each cell as the report and the page have it."""
    rows = [
        {
            "label": row.label,
            "cells": {
                name: {"text": str(Printer()(cell)), "page": str(show(cell))}
                for name, cell in row.cells.items()
            },
        }
        for row in result.opening
    ]
    return {"opening": rows}
