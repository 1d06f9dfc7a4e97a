"""Answer all questions for one case, from the tables of that case alone."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.command import module_of, render
from workflow_src.answers.evidence import read_table
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.common.schema import one_of
from workflow_src.render.markdown import template_in

TEMPLATE = "case.md.j2"


def only(tables: Mapping[str, pd.DataFrame], case: str) -> dict[str, pd.DataFrame]:
    """The rows of one case, with their row numbers. Raises StageError if there is no such case."""
    there = tables["timings"]["case"].unique()
    if case not in there:
        raise StageError(one_of("--case-name", case, there))
    return {name: table[table["case"] == case] for name, table in tables.items()}


def answers(tables: Mapping[str, pd.DataFrame], templates: Path) -> dict[str, Markup]:
    """Each question's answer as Markdown, with its long tables, by question."""
    found = {}
    for question, asked in QUESTIONS.items():
        module = module_of(question)
        answer = module.answer(**{name: tables[name] for name in asked.tables})
        shown = module.tables(answer)
        texts = [render(answer, shown, templates, part) for part in ("answer", "appendix")]
        # The file has no section above the questions, so that headings move up one level.
        found[question] = Markup(f"{texts[0].removeprefix('#')}\n{below_heading(texts[1])}")
    return found


def below_heading(text: str) -> str:
    """Markdown without its first line, a heading."""
    return text.partition("\n")[2].strip()


def case_text(tables: Mapping[str, pd.DataFrame], templates: Path) -> str:
    """All answers for the one case in `tables`, as Markdown."""
    about = tables["timings"][list(CASE_COLUMNS)].iloc[0].to_dict()
    texts = answers(tables, templates)
    text = template_in(templates, TEMPLATE).render(about=about, answers=texts)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the answers for one case."""
    parser = Parser(prog="workflow_src.answers.one_case", description=__doc__)
    parser.add_argument("--case-name", required=True, help="as in plan.csv")
    parser.add_argument("--tables", type=existing_folder, required=True, help="folder of CSVs")
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--markdown", type=new_file, required=True, help="the answers")
    given = parser.parse_args(arguments)
    names = {name for asked in QUESTIONS.values() for name in asked.tables}
    tables = only({name: read_table(given.tables, name) for name in names}, given.case_name)
    write_text(given.markdown, case_text(tables, given.templates))


if __name__ == "__main__":
    main()
