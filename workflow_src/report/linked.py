"""The report's sentences with their numbers as links, and what these lead to."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.report.sources import Linker, Source, of_answer
from workflow_src.report.support import Cells

OPENING = "report"
"""The part of the report that is neither an answer nor a study."""


@dataclass(frozen=True)
class Prose:
    """The texts of a report's answers by question, and of its studies' sections by name.

    linked: makes links of the numbers in the text around them.
    """

    answers: Mapping[str, Markup]
    sections: Mapping[str, Markup] = field(default_factory=dict)
    linked: Callable[[str], str] = str


def study_tables(folder: Path, sections: Mapping[str, Markup]) -> dict[str, pd.DataFrame]:
    """The tables of studies that are there, by "studies/{study}", with rows counted from 2."""
    found = {}
    for name in sections:
        path = folder / "studies" / f"{name}.csv"
        if path.is_file():
            with reading(path, "a readable table", remake(path), StageError):
                table = pd.read_csv(path)
            found[f"studies/{name}"] = table.set_index(pd.RangeIndex(2, len(table) + 2))
    return found


class Links:
    """Links the numbers of a report's parts, and collects the linkers of all."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        self._tables = tables
        self._linkers: list[Linker] = []

    @property
    def sources(self) -> list[Source]:
        """What the links lead to, in the order of the parts."""
        return [source for linker in self._linkers for source in linker.sources.values()]

    def prose(
        self, prose: Prose, about: Mapping[str, Any], answers: Path, sections: Sequence[Path]
    ) -> Prose:
        """A report's texts with links; `answers` is the folder of their JSON.

        `about` holds the variables of the text around them, and a section's numbers are beside it.
        """
        linked = {
            question: self._answer(question, text, answers / f"{question}.json")
            for question, text in prose.answers.items()
        }
        studies = {
            path.stem: self._section(
                path.stem, prose.sections[path.stem], path.with_suffix(".json")
            )
            for path in sections
        }
        return Prose(linked, studies, self._opening(about))

    def _answer(self, question: str, text: Markup, path: Path) -> Markup:
        """An answer with links; `path` is that of its JSON."""
        with reading(path, "an answer", remake(path), StageError):
            linker = of_answer(question, json.loads(path.read_text(encoding="utf-8")))
            return self._linked(linker, text)

    def _section(self, study: str, text: Markup, path: Path) -> Markup:
        """A study's section with links, unless an older run lacks `path`, its numbers as JSON."""
        table = f"studies/{study}"
        if not path.is_file() or table not in self._tables:
            return text
        with reading(path, "a section's numbers", remake(path), StageError):
            summary = json.loads(path.read_text(encoding="utf-8"))["summary"]
            linker = Linker(study, summary, Cells({table: self._tables[table]}))
            return self._linked(linker, text)

    def _opening(self, about: Mapping[str, Any]) -> Callable[[str], str]:
        """What links the text around answers and studies to its variables; tables are left out."""
        said = {name: value for name, value in about.items() if not isinstance(value, Markup)}
        tables = {name: t for name, t in self._tables.items() if not name.startswith("studies/")}
        linker = Linker(OPENING, said, Cells(tables))
        return lambda text: self._linked(linker, text)

    def _linked(self, linker: Linker, text: str) -> Markup:
        self._linkers.append(linker)
        return Markup(linker.link(text))
