"""A chapter of a report: what tables say, the verdict on it, and the words around both."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from markupsafe import Markup

from workflow_src.common.errors import attempt
from workflow_src.paper.show import Headline, Printer
from workflow_src.paper.templates import render
from workflow_src.paper.texts import Texts, for_programs

T = TypeVar("T")
R = TypeVar("R")

Words = Mapping[str, object]


@dataclass(frozen=True)
class Chapter(Generic[T, R]):
    """What a chapter is made of; T are the tables that it reads, R is the result that they give.

    heading: in Markdown. template: its name in report_templates without ".md.j2"; that of its long
    tables ends with ".appendix". frame: likewise that of what stands around both, if anything
    does, and prints them as `body`. All print `result`, `headline` and `words`, which are those of
    the page, with all rows of long tables, if `whole`. named: what its JSON says of it in any case;
    beside: what else that says of a result, whose cells a printer prints.
    """

    heading: str
    template: str
    result: Callable[[T], R]
    headline: Callable[[R], Headline]
    named: Words
    frame: str = ""
    words: Callable[[T, R, bool], Words] = lambda tables, result, whole: {}
    beside: Callable[[R, Printer], Words] = lambda result, show: {}

    def texts(self, tables: T, templates: Path, linked: bool = True) -> Texts:
        """The chapter in all its forms; `linked`: whether the page's values lead to their rows."""
        return self.worded(tables, self.result(tables), templates, linked)

    def worded(self, tables: T, result: R, templates: Path, linked: bool = True) -> Texts:
        """The same of a result of the tables."""
        headline, plain, show = self.headline(result), Printer(), Printer(page=True, linked=linked)
        words: dict[str, object] = {"result": result, "headline": headline}
        whole = words | {**self.words(tables, result, True)}
        short = words | {**self.words(tables, result, False)}
        page, long_page = self._printed(templates, show, whole)
        text, long = self._printed(templates, plain, short)
        said = {**self.named, **self.beside(result, show), **_concluded(headline, show)}
        return Texts(text, page, long, long_page, as_json(said))

    def _printed(self, templates: Path, show: Printer, words: Words) -> tuple[str, str]:
        """The text and, "" without any, the long tables."""
        text, long = (self._framed(templates, kind, show, words) for kind in ("", ".appendix"))
        return text, long

    def _framed(self, templates: Path, kind: str, show: Printer, words: Words) -> str:
        name = f"{self.template}{kind}.md.j2"
        if kind and not (templates / name).is_file():
            return ""
        text = render(templates, name, show, **words)
        if kind and not text.strip():
            return ""
        framed = {**words, "body": Markup(text.strip())}
        return (
            render(templates, f"{self.frame}{kind}.md.j2", show, **framed) if self.frame else text
        )

    def written(self, tables: T, templates: Path, log: str, linked: bool = True) -> Texts:
        """The same; if that fails by a defect, texts that say so and name the log."""
        return attempt(lambda: self.texts(tables, templates, linked), lambda: self._failed(log))

    def _failed(self, log: str) -> Texts:
        text = not_written(self.heading, log)
        said = {"verdict": "failed", "headline": "", "values": [], "log": log}
        return Texts(text, text, "", "", as_json({**self.named, **said}))


def not_written(heading: str, log: str) -> str:
    """The Markdown of what could not be written."""
    return f"{heading}\n\nThis could not be written: see `{log}`.\n"


def _concluded(headline: Headline, linked: Printer) -> Words:
    headline.text(linked)
    return {
        "verdict": headline.verdict.name.lower(),
        "headline": str(headline.text(Printer())),
        "values": [for_programs(each) for each in dict.fromkeys(linked.printed)],
    }


def as_json(said: Words) -> str:
    """What a chapter's JSON says."""
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"
