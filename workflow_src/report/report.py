"""Write the report from tables, answers and figures: one Markdown file and one HTML file."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markdown.extensions.toc import slugify  # type: ignore[import-untyped,unused-ignore]
from markupsafe import Markup

from workflow_src.answers import comparable, example_case
from workflow_src.answers.command import read_optional
from workflow_src.answers.evidence import cases_of, read_file, read_table
from workflow_src.answers.questions import FIGURES, QUESTIONS, REPORT_TABLES
from workflow_src.common.arguments import (
    Parser,
    existing_file,
    existing_folder,
    key_and_value,
    new_file,
)
from workflow_src.common.asked import noted
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.render import markdown as present
from workflow_src.render.html import make_html
from workflow_src.report import ceilings, commands, explore, machines, overview, pictures, setting
from workflow_src.report.device_time import Tables
from workflow_src.report.explained import explained
from workflow_src.report.linked import Links, Prose, study_tables
from workflow_src.studies.study import STUDIES

FIGURE_TEXTS = {
    "forward_time": "Unprofiled time of the forward pass, and a GPU's work in it, over context",
    "component_shares": "Share of the forward pass besides products, by component and case",
    "family_shares": "Share of each family, and of the optimizer, in each phase's time, by case",
    "softmax_matmul": "Softmax against attention's matrix multiplications: time, FLOPs, bytes",
}

FIGURE_AFTER = {
    "a": "forward_time",
    "c": "component_shares",
    "d": "family_shares",
    "e": "softmax_matmul",
}
"""The figure that follows each answer."""


@dataclass(frozen=True)
class Sources:
    """Paths of the report's parts."""

    tables: Path
    answers: Path
    figures: Path
    templates: Path
    plan: Path
    sections: tuple[Path, ...] = ()
    timelines: tuple[Path, ...] = ()


def context(
    tables: dict[str, pd.DataFrame], plan: pd.DataFrame, example: dict[str, Any] | None
) -> dict[str, Any]:
    """The template variables of the report's opening, computed from the tables and the plan."""
    timings, captures, kernels = tables["timings"], tables["captures"], tables["kernels"]
    environments = tables["environments"]
    cases = cases_of(timings, captures)
    timed = overview.timing_rows(cases, timings, tables["ranges"], captures, environments)
    precisions = overview.precision_rows(cases, kernels)
    return {
        "head": overview.headline(cases, captures, environments),
        "counted": setting.steps(plan),
        "axes": setting.axes(plan),
        "sizes": setting.sizes(plan),
        "models": int(plan["size"].nunique()),
        "misnamed": setting.misnamed(plan),
        "environment": machines.environment(environments),
        "versions": machines.versions(environments),
        "occasions": machines.occasions(environments),
        "mixed": machines.mixed(environments),
        "warnings": machines.warnings(environments),
        "warned": machines.warning_table(environments),
        "example": example,
        "status": overview.status_table(cases, timings, captures),
        "timed": timed,
        "uncompared": [row["case"] for row in timed if comparable.withheld(row)],
        "busiest": comparable.busiest(environments),
        "timing": overview.timing_table(timed),
        "idle": overview.idle_counts(timed),
        "host_speeds": machines.host_speeds(environments),
        "conserved": overview.conservation(captures, kernels),
        "conservation": overview.conservation_table(captures),
        "precisions": precisions,
        "precision": overview.precision_table(precisions),
    }


def figure_link(name: str, figures: Path, folder: Path) -> Markup:
    """A Markdown image that links to a figure, relative to `folder`."""
    target = Path(os.path.relpath(figures / f"{name}.svg", folder)).as_posix()
    return Markup(f"![{FIGURE_TEXTS[name]}]({target})")


@dataclass(frozen=True)
class Report:
    """The report of a run as Markdown, and the page that holds it and the appendix."""

    text: str
    page: str


def read_tables(sources: Sources) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """The report's tables and plan. Raises StageError if one is missing, damaged or empty."""
    tables = {name: read_table(sources.tables, name) for name in REPORT_TABLES}
    plan = read_file(sources.plan, "plan")
    if plan.empty:
        raise StageError(f"{sources.plan} is not a plan (no case); {remake(sources.plan)}")
    return tables, plan


def variables(
    tables: dict[str, pd.DataFrame],
    plan: pd.DataFrame,
    sources: Sources,
    config: Sequence[str] = (),
) -> dict[str, Any]:
    """What the report says besides the answers and the studies."""
    of_answers = [sources.answers / f"{question}.json" for question in QUESTIONS]
    return {
        **context(tables, plan, example_case.read(sources.tables)),
        **ceilings.variables(sources.tables, of_answers, tables["environments"]),
        "explained": explained(sources.tables, len(tables["captures"])),
        "with_all_studies": Markup(commands.options(commands.with_studies(config, STUDIES))),
    }


def make_appendix(sources: Sources, suite: str, tag: str, config: Sequence[str] = ()) -> str:
    """The appendix of a suite's run. Raises StageError as make_report does."""
    about = variables(*read_tables(sources), sources, config) | {"suite": suite, "tag": tag}
    return appendix_text(about, sources)


def make_report(
    sources: Sources, folder: Path, suite: str, tag: str, config: Sequence[str] = ()
) -> Report:
    """The report of a suite's run, with links relative to `folder`.

    `config`: the settings in which the run differs from config.yaml, as --config takes them.
    Raises StageError if a table, an answer or a section is missing or damaged.
    """
    tables, plan = read_tables(sources)
    about = variables(tables, plan, sources, config) | {"suite": suite, "tag": tag}
    prose = Prose(
        {name: answer_text(sources.answers / f"{name}.md", tag, config) for name in QUESTIONS},
        {path.stem: Markup(text_of(path).strip()) for path in sources.sections},
    )
    appendix = appendix_text(about, sources)
    tables |= study_tables(sources.tables, prose.sections)
    links = Links(tables)
    linked = links.prose(prose, about, sources.answers, sources.sections)
    whole = one_page(report_text(about, sources, folder, linked), appendix, tag)
    charts = charts_of(tables, sources, about["example"])
    options = commands.options(commands.without_studies(config))
    run = explore.Run(sources.tables, tag, options, tables, explore.cases(plan, tag))
    shown = pictures.text(sources.timelines, folder, charts, run)
    parts = explore.parts(links.sources, run, sources.templates) | pictures.parts(charts)
    appended = whole.replace("\n## Appendix\n", f"\n{shown}\n## Appendix\n") + explore.text(run)
    page = make_html(appended, folder, sources.templates, parts, present.records(plan))
    return Report(report_text(about, sources, folder, prose), page)


def charts_of(
    tables: dict[str, pd.DataFrame], sources: Sources, example: dict[str, Any] | None
) -> pictures.Charts:
    """The flame charts of the example at each precision, and of the cases with a timeline."""
    operators, products = (read_optional(sources.tables, n) for n in ("operators", "products"))
    found = Tables(tables["kernels"], operators, products)
    rates = ceilings.read_ceilings(sources.tables / "ceilings.csv")
    cases = example["cases"] if example else []
    return pictures.charts(sources.timelines, tables["captures"], found, rates, cases)


def report_text(about: dict[str, Any], sources: Sources, folder: Path, prose: Prose) -> str:
    """The report: the short answers, then each with its reasons, then the studies."""
    links = {name: figure_link(name, sources.figures, folder) for name in FIGURES}
    short = {question: short_answer(text) for question, text in prose.answers.items()}
    # Other parts' texts, which have links of their own, take their places after the rest has.
    held = {
        f"@@{kind} {name}@@": text
        for kind, texts in (("short", short), ("answer", prose.answers), ("study", prose.sections))
        for name, text in texts.items()
    }
    template = present.template_in(sources.templates, "report.md.j2")
    text = template.render(
        **about,
        appendix=Markup(f"results/{about['tag']}/appendix.md"),
        short={name: Markup(f"@@short {name}@@") for name in short},
        answers={name: Markup(f"@@answer {name}@@") for name in prose.answers},
        figures=links,
        figure_after=FIGURE_AFTER,
        sections=[Markup(f"@@study {name}@@") for name in prose.sections],
        not_chosen=[name for name in STUDIES if name not in prose.sections],
    )
    text = prose.linked(text)
    for place, part in held.items():
        text = text.replace(place, part)
    return with_contents(re.sub(r"\n{3,}", "\n\n", text).strip() + "\n")


def appendix_text(about: dict[str, Any], sources: Sources) -> str:
    """The long tables that the report leaves out."""
    parts = {q: text_of(sources.answers / f"{q}.appendix.md") for q in QUESTIONS}
    studies = [text_of(long_tables(path)) for path in sources.sections]
    template = present.template_in(sources.templates, "appendix.md.j2")
    text = template.render(**about, appendices=[*parts.values(), *studies])
    return with_contents(re.sub(r"\n{3,}", "\n\n", text).strip() + "\n")


def long_tables(section: Path) -> Path:
    """The file with the long tables that belong to a study's section."""
    return section.with_suffix(".appendix.md")


IN_SHORT = 2
"""The most sentences of an answer that the report begins with."""


def short_answer(text: str) -> Markup:
    """The first sentences of an answer, a line each, which answer its question in short."""
    paragraphs = [part for part in text.strip().split("\n\n")[1:] if part.strip()]
    partial = "Partial: " if paragraphs and paragraphs[0].startswith("**Partial") else ""
    first = paragraphs[1:] if partial else paragraphs
    sentences = first[0].strip().splitlines()[:IN_SHORT] if first else []
    return Markup(partial + " ".join(" ".join(sentences).split()) if first else "")


def one_page(report: str, appendix: str, tag: str) -> str:
    """The report followed by its appendix, with links from one to the other inside the page."""
    linked = report.replace(f"(results/{tag}/appendix.md#", "(#")
    linked = linked.replace(f"(results/{tag}/appendix.md)", "(#appendix)")
    # The page is read without the project's folder beside it.
    linked = re.sub(r"\[([^]]+)\]\((docs/[^)]+)\)", r"\1 (`\2`)", linked)
    # The page has contents of its own.
    linked = re.sub(r"\nContents:\n\n(?: *- .*\n)+", "", linked)
    tables = appendix[appendix.index("\n## ") :]
    return linked + "\n## Appendix\n" + re.sub("^#", "##", tables, flags=re.MULTILINE)


def answer_text(path: Path, tag: str, config: Sequence[str]) -> Markup:
    """An answer's text with complete commands. Raises StageError as text_of does."""
    return Markup(commands.completed(text_of(path), tag, config))


def text_of(path: Path) -> Markup:
    """The Markdown in a file, unescaped. Raises StageError if it is missing or isn't UTF-8."""
    with reading(path, "Markdown", remake(path), StageError):
        return Markup(path.read_text(encoding="utf-8"))


def with_contents(text: str) -> str:
    """The report with a linked table of contents before its first section.

    Link targets are the heading ids of both this project's HTML and common Markdown viewers: the
    heading's words in lower case, joined by hyphens.
    """
    headings = re.findall(r"^(##+) (.+)$", text, flags=re.MULTILINE)
    lines = [f"{'    ' * (len(h) - 2)}- [{title}](#{slugify(title, '-')})" for h, title in headings]
    opening, mark, rest = text.partition("\n## ")
    return opening + "\nContents:\n\n" + "\n".join(lines) + "\n" + mark + rest


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report."""
    parser = Parser(prog="workflow_src.report.report", description=__doc__)
    parser.add_argument(
        "--tables", type=existing_folder, required=True, help="folder of joined CSVs"
    )
    parser.add_argument(
        "--answers", type=existing_folder, required=True, help="folder of a.md to f.md"
    )
    parser.add_argument(
        "--figures", type=existing_folder, default=Path(), help="folder of the .svg figures"
    )
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--plan", type=existing_file, required=True, help="plan.csv")
    parser.add_argument("--suite", required=True, help="the suite that ran, for the first lines")
    parser.add_argument("--tag", required=True, help="the run's name, for the first lines")
    parser.add_argument(
        "--changed-settings",
        nargs="*",
        type=key_and_value,
        default=[],
        metavar="KEY=VALUE",
        help="settings that differ from config.yaml, for the commands",
    )
    parser.add_argument(
        "--sections",
        type=existing_file,
        nargs="*",
        default=[],
        help="Markdown of the studies, each with its long tables beside it, in {study}.appendix.md",
    )
    parser.add_argument(
        "--timelines",
        type=existing_file,
        nargs="*",
        default=[],
        help="timelines/{case}.svg to show",
    )
    parser.add_argument("--asked", default="", help="what is made, noted at each text's end")
    parser.add_argument("--markdown", type=new_file, help="the report, with --html")
    parser.add_argument("--html", type=new_file, help="the report as a page, with --markdown")
    parser.add_argument("--appendix", type=new_file, help="the long tables")
    given = parser.parse_args(arguments)
    sources = Sources(
        given.tables,
        given.answers,
        given.figures,
        given.templates,
        given.plan,
        tuple(given.sections),
        tuple(given.timelines),
    )
    about = (given.suite, given.tag, given.changed_settings)
    texts = {}
    if given.appendix:
        texts[given.appendix] = make_appendix(sources, *about)
    if given.markdown and given.html:
        made = make_report(sources, given.markdown.parent, *about)
        texts |= {given.markdown: made.text, given.html: made.page}
    for path, text in texts.items():
        write_text(path, noted(text, given.asked))


if __name__ == "__main__":
    main()
