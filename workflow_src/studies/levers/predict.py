"""Predict the time of each variant of a case from its plain point, which is all that is read."""

import json
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import PHASES
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import prepared
from workflow_src.studies.levers.effects import EFFECTS, State
from workflow_src.studies.levers.known import Known, UnmeasuredError, known, plain_case
from workflow_src.studies.levers.points import PLAIN, Variant, variants
from workflow_src.studies.levers.wall_time import time_of, work_of
from workflow_src.studies.study import Row


def predicted(known: Known, variant: Variant) -> list[Row]:
    """A row per phase of a variant; times are for as many tokens as the plain batch has.

    Of the device's work, each kind's time stands beside the sum.
    """
    plain = State(known.parts, known.case.precision)
    state = plain
    for remedy in variant.remedies:
        state = EFFECTS[remedy](known, state)
    rows = []
    for phase in PHASES:
        found = time_of(known, plain, state, phase)
        rows.append(
            {"case": known.case.case, "variant": variant.name, "phase": phase, "status": "ok"}
            | {f"predicted_{name}": value for name, value in found._asdict().items()}
            | {f"predicted_{kind}_ms": ms for kind, ms in work_of(state, phase).items()}
            | {"reason": ""}
        )
    return rows


def predictions(result: Row, rules: pd.DataFrame) -> pd.DataFrame:
    """The predictions for all variants of a plain point, as it was written.

    A single row with the status "skipped" and the reason if the point lacks what they rest on.
    """
    point = result["point"]
    rows = [prepared(row, rules) if row["status"] == "ok" else row for row in result["rows"]]
    case = plain_case(point)
    try:
        found = known(point, rows, case)
    except UnmeasuredError as error:
        about = {"case": case.case, "variant": "", "phase": "", "status": "skipped"}
        return pd.DataFrame([about | {"reason": str(error)}])
    tried = [each for each in variants(case.precision, case.device) if each.name != PLAIN]
    return pd.DataFrame([row for variant in tried for row in predicted(found, variant)])


@one_sentence()
def main() -> None:
    """Write the predictions for a case."""
    parser = Parser(description=__doc__)
    parser.add_argument("--plain", type=existing_file, required=True, help="the plain point's JSON")
    parser.add_argument("--families", type=existing_file, required=True, help="families.csv")
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    rules = load_rules(given.families)
    path: Path = given.plain
    with reading(path, "a study's result", remake(path), StageError):
        found = predictions(json.loads(path.read_text(encoding="utf-8")), rules)
    write_csv(given.output, found)


if __name__ == "__main__":
    main()
