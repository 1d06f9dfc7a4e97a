"""What an answer or a study's section is on paper: Markdown, the same for the page, and JSON."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from workflow_src.common.atomic_write import write_text
from workflow_src.render.show import Headline, Printer
from workflow_src.render.value import Cell, Value


@dataclass(frozen=True)
class Texts:
    """An answer or a section as written, its long tables (empty without any), and JSON."""

    markdown: str
    page: str
    appendix: str
    appendix_page: str
    json: str

    def write(self, folder: Path, name: str) -> None:
        """Write {name}.md, .page.md, .appendix.md, .appendix.page.md and .json into a folder."""
        write_text(folder / f"{name}.json", self.json)
        write_text(folder / f"{name}.md", self.markdown)
        write_text(folder / f"{name}.page.md", self.page)
        write_text(folder / f"{name}.appendix.md", self.appendix)
        write_text(folder / f"{name}.appendix.page.md", self.appendix_page)


Part = Callable[[Printer], str]
"""Some Markdown, as a printer prints its cells."""


def texts(
    text: Part,
    appendix: Part,
    said: Mapping[str, object],
    headline: Headline,
    beside: Iterable[Cell] = (),
) -> Texts:
    """The texts of an answer or a section, from its Markdown and that of its long tables.

    `said`: what the JSON says beside verdict, headline and values; `beside`: cells that others
    print, whose values the JSON lists as well.
    """
    plain, linked = Printer(), Printer(page=True)
    page, appendix_page = text(linked), appendix(linked)
    for cell in beside:
        linked(cell)
    concluded = _concluded(headline, linked)
    return Texts(text(plain), page, appendix(plain), appendix_page, _json({**said, **concluded}))


def _concluded(headline: Headline, linked: Printer) -> dict[str, object]:
    headline.text(linked)
    return {
        "verdict": headline.verdict.name.lower(),
        "headline": str(headline.text(Printer())),
        "values": [for_programs(each) for each in dict.fromkeys(linked.printed)],
    }


def for_programs(value: Value) -> dict[str, object]:
    """A printed value with its key and its sources, as JSON."""
    sources = [{"table": rows.table, "rows": list(rows.numbers)} for rows in value.sources]
    number = value.number if value.number != int(value.number) else int(value.number)
    about = {"key": value.key, "value": number, "unit": value.unit, "formula": value.formula}
    return about | {"sources": sources}


def failed(heading: str, log: str, said: Mapping[str, object]) -> Texts:
    """The texts of what could not be written; `said`: what its JSON says all the same."""
    text = f"{heading}\n\nThis could not be written: see `{Markup(log)}`.\n"
    about = {**said, "verdict": "failed", "headline": "", "values": [], "log": log}
    return Texts(text, text, "", "", _json(about))


def _json(said: Mapping[str, object]) -> str:
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"
