"""Check the tables of a run against the laws of conservation: what is counted twice, or not at all.

The tables are those of results/{tag}/tables, or of a published run. Nothing is measured.
"""

import sys

from workflow_src.common.arguments import existing_folder, stage_arguments
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.tables.laws import AT_MOST, LAWS, Law, Tables, derived, read_tables

SHOWN = 3
"""Violations of a law that are printed, the largest."""


def verdict(law: Law, rows: Tables) -> tuple[bool, list[str]]:
    """Whether a law holds, and what to print: a line, and one for each of its worst violations.
    Raises KeyError if the tables lack a column of it."""
    compared = law.compared(rows)
    broken = law.broken(compared)
    cases = compared["case"].nunique()
    line = f"{law.name}: {cases} cases, {len(compared)} sums, {len(broken)} violations"
    sign = "is more than" if law.relation == AT_MOST else "is not"
    worst = broken.sort_values("difference", key=abs, ascending=False).head(SHOWN)
    said = [line]
    for _, row in worst.iterrows():
        place = ", ".join(part for part in (row["case"], row["phase"], row["where"]) if part)
        said.append(f"  {place}: {row['left']:.15g} {sign} {row['right']:.15g} {law.unit}")
    return broken.empty, said


@one_sentence()
def main() -> None:
    """Print a line per law; exit with status 1 if one is violated."""
    folder, held = stage_arguments(__doc__, tables=existing_folder).tables, []
    try:
        rows = derived(read_tables(folder))
        for law in LAWS:
            holds, lines = verdict(law, rows)
            print(*lines, sep="\n")
            held.append(holds)
    except KeyError as error:
        raise StageError(
            f"{folder}: a column is missing ({error.args[0]}); make the tables again with this "
            "version"
        ) from error
    print(f"{sum(held)} of {len(held)} laws hold")
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
