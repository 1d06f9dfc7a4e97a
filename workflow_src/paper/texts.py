"""What a chapter is on paper: Markdown, the same for the page, and JSON."""

from dataclasses import dataclass
from pathlib import Path

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
        """Write {name}.md, .page.md, .appendix.md, .appendix.page.md and .json into a folder."""
        write_text(folder / f"{name}.json", self.json)
        write_text(folder / f"{name}.md", self.markdown)
        write_text(folder / f"{name}.page.md", self.page)
        write_text(folder / f"{name}.appendix.md", self.appendix)
        write_text(folder / f"{name}.appendix.page.md", self.appendix_page)


def for_programs(value: Value) -> dict[str, object]:
    """A printed value with its key and its sources, as JSON."""
    sources = [{"table": rows.table, "rows": list(rows.numbers)} for rows in value.sources]
    number = value.number if value.number != int(value.number) else int(value.number)
    printed = {"key": value.key, "value": number, "unit": value.unit, "formula": value.formula}
    return printed | {"sources": sources}
