"""Answer one question from the tables: as JSON with its evidence, and as Markdown."""

import importlib
import re
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from types import ModuleType

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import example_case
from workflow_src.answers.answer import Answer
from workflow_src.answers.evidence import Row, empty_table, read_table
from workflow_src.answers.questions import QUESTIONS
from workflow_src.answers.study_tables import read_study
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_json, write_text
from workflow_src.common.errors import one_sentence
from workflow_src.render.markdown import template_in


def module_of(question: str) -> ModuleType:
    """The module that answers a question, imported by the name that QUESTIONS has."""
    return importlib.import_module(f"workflow_src.answers.{QUESTIONS[question].module}")


def read_tables(folder: Path, *questions: str, case: Row | None = None) -> dict[str, pd.DataFrame]:
    """The tables of some questions by name: see `read_table`. Missing optional ones are empty."""
    asked = [QUESTIONS[question] for question in questions]
    names = dict.fromkeys(name for each in asked for name in each.tables)
    found = {name: read_table(folder, name, case) for name in names}
    for name in (name for each in asked for name in each.optional):
        found[name] = read_optional(folder, name, case)
    studies = [name for each in asked for name in each.studies]
    return found | {name: read_study(folder, name) for name in studies}


def read_optional(folder: Path, name: str, case: Row | None = None) -> pd.DataFrame:
    """A table as `read_table` reads it; empty if there is none."""
    there = (folder / f"{name}.csv").is_file()
    return read_table(folder, name, case) if there else empty_table(name)


def render(
    answer: Answer, tables: Mapping[str, Markup], templates: Path, part: str = "answer"
) -> str:
    """An answer as Markdown, rendered with the template of its question.

    `part` is "answer", or "appendix" for the long tables that go with it, if there are any.
    """
    if part == "appendix" and not (templates / f"appendix_{answer.question}.md.j2").exists():
        return ""
    template = template_in(templates, f"{part}_{answer.question}.md.j2")
    text = template.render(answer=answer, tables=tables, **answer.summary)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def answer_from(folder: Path, question: str, answer: Callable[..., Answer]) -> Answer:
    """The answer that `answer` gives from the tables in `folder`.

    If it takes an `example`, that is the run's: see example_case.
    """
    takes = "example" in signature(answer).parameters
    chosen = {"example": example_case.read(folder)} if takes else {}
    return answer(**read_tables(folder, question), **chosen)


@one_sentence()
def main(
    question: str,
    answer: Callable[..., Answer],
    tables: Callable[[Answer], Mapping[str, Markup]],
) -> None:
    """Answer one question, reading only the tables that QUESTIONS lists for it."""
    parser = Parser(description=__doc__)
    parser.add_argument(
        "--tables", type=existing_folder, required=True, help="folder of joined CSVs"
    )
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--json", type=new_file, required=True)
    parser.add_argument("--markdown", type=new_file, required=True, help="the answer")
    parser.add_argument("--appendix", type=new_file, required=True, help="its long tables")
    given = parser.parse_args()
    found = answer_from(given.tables, question, answer)
    shown = tables(found)
    texts = [render(found, shown, given.templates, part) for part in ("answer", "appendix")]
    write_json(given.json, found.as_dict())
    write_text(given.markdown, texts[0])
    write_text(given.appendix, texts[1])
    print(f"({found.question}) {found.status}: {len(found.facts)} facts")
