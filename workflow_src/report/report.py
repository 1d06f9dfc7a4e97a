"""Write the report: its chapters one after another, as Markdown, as a page, and their appendix."""

import argparse
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from workflow_src.answers.summary import of_folder
from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_json, write_text
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.paper.html import figure, inlined
from workflow_src.paper.page import page
from workflow_src.paper.written import FORMS


@dataclass(frozen=True)
class Chapter:
    """A chapter as its stage left it."""

    texts: Mapping[str, Markup]
    said: Mapping[str, Any]

    @property
    def name(self) -> str:
        """That of its files."""
        return str(self.said["name"])

    @property
    def title(self) -> str:
        """Its title, as text."""
        return html.unescape(re.sub(r"\\(.)", r"\1", str(self.said["title"])))

    @property
    def is_study(self) -> bool:
        """Whether it stands below the heading of the studies."""
        return bool(self.said["level"] == "###")


def read_chapter(path: Path) -> Chapter:
    """A chapter by the path of its Markdown. Raises StageError if a file of it is damaged."""
    beside = path.with_suffix(".json")
    with reading(beside, "a chapter's JSON", remake(beside), StageError):
        said = json.loads(beside.read_text(encoding="utf-8"))
        missing = {"name", "title", "level", "evidence"} - said.keys()
        if missing:
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    texts = {}
    for form in FORMS:
        file = path.with_suffix(f".{form}")
        with reading(file, "a chapter's text", remake(file), StageError):
            texts[form] = Markup(file.read_text(encoding="utf-8").strip())
    return Chapter(texts, said)


def timeline(path: Path) -> Mapping[str, Any]:
    """A step's picture, and its case."""
    with reading(path, "an SVG", remake(path), StageError):
        svg = inlined(path.read_text(encoding="utf-8"), path.stem)
    label = f"Timeline of {path.stem}: host ranges, launches, device work, idle time"
    return {"case": path.stem, "drawn": figure(svg, label)}


def contents(chapters: Sequence[Chapter]) -> dict[str, str]:
    """What the page's bar names, by id; all studies are one."""
    names: dict[str, str] = {}
    for each in [each for each in chapters if each.said["level"] != "#"]:
        names |= {"studies": "Studies"} if each.is_study else {each.name: each.title}
    return names | {"tables": "Tables"}


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write what is asked for."""
    parser = Parser(prog="workflow_src.report.report", description=__doc__)
    about = "Markdown of the chapters in their order, each with its other forms beside it"
    parser.add_argument("--chapters", type=existing_file, nargs="+", required=True, help=about)
    about = "timelines/{case}.svg to show"
    parser.add_argument("--timelines", type=existing_file, nargs="*", default=[], help=about)
    about = "studies that were not chosen"
    parser.add_argument("--others", nargs="*", default=[], metavar="STUDY", help=about)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--tag", required=True, help="the run's name")
    parser.add_argument("--markdown", type=new_file, help="the report, with --html")
    parser.add_argument("--html", type=new_file, help="the report as a page, with --markdown")
    parser.add_argument("--appendix", type=new_file, help="the long tables")
    about = "what programs read, in the folder of the run"
    parser.add_argument("--summary", type=new_file, metavar="summary.json", help=about)
    given = parser.parse_args(arguments)
    chapters = [read_chapter(path) for path in given.chapters]
    drawn = [timeline(path) for path in given.timelines]
    told = {"chapters": chapters, "timelines": drawn, "others": given.others, "tag": given.tag}
    with reading(given.templates, "a folder of templates", "give report_templates", StageError):
        for path, text in texts(given, chapters, told).items():
            write_text(path, text)
    if given.summary:
        said = [chapter.said for chapter in chapters]
        write_json(given.summary, of_folder(given.summary.parent, said))


def texts(
    given: argparse.Namespace, chapters: Sequence[Chapter], told: Mapping[str, object]
) -> dict[Path, str]:
    """The report, its page and its appendix, by path."""
    loader = jinja2.FileSystemLoader(given.templates)
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)

    def rendered(template: str) -> str:
        text = made.get_template(template).render(told)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    found = {given.appendix: rendered("appendix.md.j2")} if given.appendix else {}
    if given.markdown and given.html:
        evidence = {key: why for each in chapters for key, why in each.said["evidence"].items()}
        body, bar = rendered("report.html.j2"), contents(chapters)
        whole = page(chapters[0].title, [body], evidence, bar, given.templates)
        found |= {given.markdown: rendered("report.md.j2"), given.html: whole}
    return found


if __name__ == "__main__":
    main()
