"""Write the table of one case, from the tables of that case alone."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from workflow_src.answers.cards import TEMPLATE, WORDS
from workflow_src.answers.case_card import case_card
from workflow_src.answers.questions import CARDS
from workflow_src.answers.tables import CaseKey, Tables, read_table
from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, one_of, one_sentence, remake
from workflow_src.paper.show import Printer
from workflow_src.paper.templates import render


def planned(path: Path, case: str) -> CaseKey:
    """A case of the plan at `path`. Raises StageError if there is no such case."""
    plan = read_table(path, "plan")
    if plan.empty:
        raise StageError(f"{path} is not a plan (no case); {remake(path)}")
    mine = plan.loc[plan["case"] == case, [field.name for field in fields(CaseKey)]]
    if mine.empty:
        raise StageError(one_of("--case-name", case, plan["case"]))
    return CaseKey(*mine.iloc[0])


def case_text(tables: Tables, case: CaseKey, templates: Path) -> str:
    """The card of a case as a file of its own."""
    show, card = Printer(), case_card(tables, case)
    text = render(templates, TEMPLATE, show, card=card, heading="#")
    return f"{text}\n{render(templates, WORDS, show, tables=[card.table])}"


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table of one case."""
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
    parser.add_argument("--markdown", type=new_file, required=True, help="the table")
    given = parser.parse_args(arguments)
    case = planned(given.plan, given.case_name)
    tables = Tables.read(given.tables, CARDS.tables, CARDS.optional, case=case).only(case.case)
    write_text(given.markdown, case_text(tables, case, given.templates))


if __name__ == "__main__":
    main()
