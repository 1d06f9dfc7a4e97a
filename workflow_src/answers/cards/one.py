"""Write the card of one case, from the tables of that case alone."""

import pandas as pd

from workflow_src.answers.cards.chapter import TEMPLATE, facts
from workflow_src.common.arguments import (
    existing_file,
    existing_folder,
    new_file,
    stage_arguments,
)
from workflow_src.common.atomic_write import write_text
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.errors import StageError, one_of, one_sentence, remake
from workflow_src.common.read_table import read_table
from workflow_src.paper.form import Form
from workflow_src.paper.run import Run
from workflow_src.paper.written import render


def planned(plan: pd.DataFrame, case: str) -> dict[str, object]:
    """The plan's CASE_COLUMNS of a case. Raises StageError if it has none."""
    mine = plan[plan["case"] == case]
    if mine.empty:
        raise StageError(one_of("--case-name", case, plan["case"]))
    return {str(name): cell for name, cell in mine[[*CASE_COLUMNS]].iloc[0].items()}


@one_sentence()
def main() -> None:
    """Write the card of one case."""
    read = {"plan": existing_file, "tables": [existing_file], "templates": existing_folder}
    given = stage_arguments(__doc__, case_name=str, markdown=new_file, **read)
    plan = read_table(given.plan, "plan")
    if plan.empty:
        raise StageError(f"{given.plan} is not a plan (no case); {remake(given.plan)}")
    run = Run(given.tables, planned(plan, given.case_name))
    found = facts(run) | {"heading": "#"}
    text = render(given.templates, [TEMPLATE], found, Form(html=False))["appendix"]
    write_text(given.markdown, text + "\n")


if __name__ == "__main__":
    main()
