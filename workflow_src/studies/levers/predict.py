"""Predict the time of each variant of a case from its plain point, which is all that is read."""

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.common.remedies import REMEDIES
from workflow_src.diagnosis.remedies.predict import PlainStep
from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import prepared
from workflow_src.studies.levers.plain_point import PlainPoint, UnmeasuredError
from workflow_src.studies.levers.points import PLAIN, Variant, variants
from workflow_src.studies.levers.processes import plain_case
from workflow_src.studies.study import Row

UNPREDICTED = {
    "batch_x2": "a larger batch is other work, which the plain step doesn't show",
    "fused_softmax": "no ceiling of the plain point is a fused softmax",
    "triton_softmax": "no ceiling of the plain point is the Triton softmax",
    "bf16_weights": "no ceiling of the plain point tells what bf16 weights leave of casts",
}
"""Why remedies are measured and not predicted."""


def predicted(steps: Mapping[str, PlainStep], case: str, variant: Variant) -> list[Row]:
    """A row per phase of a variant, or one with the status "skipped" and the reason."""
    about = {"case": case, "variant": variant.name}
    why = next((UNPREDICTED[each] for each in variant.remedies if each in UNPREDICTED), "")
    if why:
        return [about | {"phase": "", "status": "skipped", "reason": why}]
    remedies = sorted(variant.remedies, key=REMEDIES.index)
    rows = []
    for phase, step in steps.items():
        found = step.predicted(remedies)
        low, usual, high = found.time_ms
        rows.append(
            about | {"phase": phase, "status": "ok", "reason": "", "predicted_ms": usual}
            | {"predicted_low": low, "predicted_high": high}
            | {"predicted_device_ms": found.device_ms, "predicted_launches": found.launches}
        )  # fmt: skip
    return rows


def predictions(result: Row, rules: pd.DataFrame) -> pd.DataFrame:
    """The predictions for all variants of a plain point, as it was written.

    A single row with the status "skipped" and the reason if the point lacks what they rest on.
    """
    point = result["point"]
    rows = [prepared(row, rules) if row["status"] == "ok" else row for row in result["rows"]]
    case = plain_case(point)
    try:
        steps = PlainPoint.of(point, rows).steps()
    except UnmeasuredError as error:
        about = {"case": case.case, "variant": "", "phase": "", "status": "skipped"}
        return pd.DataFrame([about | {"reason": str(error)}])
    tried = [each for each in variants(case.precision, case.device) if each.name != PLAIN]
    return pd.DataFrame([row for each in tried for row in predicted(steps, case.case, each)])


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
