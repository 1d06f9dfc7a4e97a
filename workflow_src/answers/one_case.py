"""Answer all questions for one case, from the tables of that case alone."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.command import module_of, read_tables, render
from workflow_src.answers.evidence import OF_THE_MACHINE, of, read_file
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.schema import one_of
from workflow_src.render.markdown import template_in

TEMPLATE = "case.md.j2"


def planned(path: Path, case: str) -> dict[str, Any]:
    """A case's row in the plan at `path`. Raises StageError if there is no such case."""
    plan = read_file(path, "plan")
    if plan.empty:
        raise StageError(f"{path} is not a plan (no case); {remake(path)}")
    mine = plan[plan["case"] == case]
    if mine.empty:
        raise StageError(one_of("--case-name", case, plan["case"]))
    return {str(name): value for name, value in mine.iloc[0].items()}


def tables_of(folder: Path, case: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """The rows of one case in all tables that the questions need, and those of no case.

    `folder` holds the case's own tables, or those of all cases joined.
    """
    tables = read_tables(folder, *QUESTIONS, case=case)
    return {
        name: table if name in OF_THE_MACHINE else of(table, case["case"])
        for name, table in tables.items()
    }


def answers(tables: Mapping[str, pd.DataFrame], templates: Path) -> dict[str, Markup]:
    """Each question's answer as Markdown, with its long tables, by question."""
    found = {}
    for question, asked in QUESTIONS.items():
        module = module_of(question)
        of_question = {name: tables[name] for name in asked.every_table}
        answer = module.answer(**of_question)
        shown = module.tables(answer)
        texts = [render(answer, shown, templates, part) for part in ("answer", "appendix")]
        # The file has no section above the questions, so that headings move up one level.
        found[question] = Markup(f"{texts[0].removeprefix('#')}\n{below_heading(texts[1])}")
    return found


def below_heading(text: str) -> str:
    """Markdown without its first line, a heading."""
    return text.partition("\n")[2].strip()


def case_text(case: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], templates: Path) -> str:
    """All answers for one case, given its row of the plan and its tables, as Markdown."""
    texts = answers(tables, templates)
    text = template_in(templates, TEMPLATE).render(about=case, answers=texts)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the answers for one case."""
    parser = Parser(prog="workflow_src.answers.one_case", description=__doc__)
    parser.add_argument("--case-name", required=True, help="as in the plan")
    parser.add_argument("--plan", type=existing_file, required=True, help="plan.csv")
    parser.add_argument(
        "--tables",
        type=existing_folder,
        required=True,
        help="folder of the case's own CSVs, or of the joined ones",
    )
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--markdown", type=new_file, required=True, help="the answers")
    given = parser.parse_args(arguments)
    case = planned(given.plan, given.case_name)
    tables = tables_of(given.tables, case)
    write_text(given.markdown, case_text(case, tables, given.templates))


if __name__ == "__main__":
    main()
