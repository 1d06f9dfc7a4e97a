"""What each plain step would take with remedies: remedies.csv, predicted from the joined tables."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import own_columns
from workflow_src.diagnosis.remedies.run import Run, predictions

READ = ("timings", "operators", "products")


def table(run: Run) -> pd.DataFrame:
    """The predictions for all cases of a run: a row per case, phase and combination of remedies."""
    about = run.timings.drop_duplicates("case").set_index("case")[list(CASE_COLUMNS[1:])]
    rows = pd.DataFrame([*predictions(run)], columns=["case", *own_columns("remedies")])
    return about.join(rows.set_index("case"), how="inner").reset_index()


def read_run(folder: Path, ceilings: Sequence[Path]) -> Run:
    """The joined tables that predictions rest on; a run may have no ceilings."""
    given = read_table(ceilings[0], "ceilings") if ceilings else None
    joined = {name: with_texts(read_table(folder / f"{name}.csv", name), name) for name in READ}
    return Run(**joined, ceilings=given)


@one_sentence()
def main() -> None:
    """Write the table of remedies."""
    parser = Parser(description=__doc__)
    parser.add_argument("--tables", type=existing_folder, required=True, help="the joined CSVs")
    parser.add_argument("--ceilings", type=existing_file, nargs="*", default=[])
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    with reading(given.tables, "the joined tables", remake(given.output), StageError):
        found = table(read_run(given.tables, given.ceilings))
    write_csv(given.output, found)


if __name__ == "__main__":
    main()
