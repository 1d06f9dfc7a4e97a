"""What a chapter is on paper: Markdown, the same for the page, and JSON."""

import json as json_
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from workflow_src.common.atomic_write import write_text
from workflow_src.paper.value import Value


@dataclass(frozen=True)
class Texts:
    """A chapter as written, its long tables (empty without any), and JSON."""

    markdown: str
    page: str
    appendix: str
    appendix_page: str
    json: str

    def write(self, folder: Path, name: str) -> None:
        """Write the files of a chapter until paper.written writes all of them."""
        said = {"name": name, "level": "##", "evidence": {}, "title": name} | json_.loads(self.json)
        write_text(folder / f"{name}.json", json_.dumps(said, indent=1, ensure_ascii=False) + "\n")
        for end, text in (("", self.markdown), (".appendix", self.appendix)):
            write_text(folder / f"{name}{end}.md", text)
            shown = Markup("<section id={}><pre>{}</pre></section>").format(name + end, text)
            write_text(folder / f"{name}{end}.html", shown)


def for_programs(value: Value) -> dict[str, object]:
    """A printed value with its key and its sources, as JSON."""
    sources = [{"table": rows.table, "rows": list(rows.numbers)} for rows in value.sources]
    number = value.number if value.number != int(value.number) else int(value.number)
    printed = {"key": value.key, "value": number, "unit": value.unit, "formula": value.formula}
    return printed | {"sources": sources}
