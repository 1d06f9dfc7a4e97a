"""The table of a machine's ceilings."""

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from workflow_src.common.arguments import existing_file, new_file, stage_arguments
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.ceilings import RATES, rate_of
from workflow_src.common.environment import MEASURED_WITH
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import own_columns


def table(result: Mapping[str, Any]) -> pd.DataFrame:
    """A row per measurement with its rates, in the unit of its kind, and the clock meanwhile (MHz);
    `is_ceiling`: the best of its kind and precision."""
    around = {name: result["environment"].get(name, "") for name in MEASURED_WITH}
    lines = [row | around for row in result["rows"]]
    for row in (line for line in lines if line["status"] == "ok"):
        unit, samples = RATES[row["kind"]][1], row["samples_ns"]
        row[f"median_{unit}"], row[f"best_{unit}"] = (
            rate_of(row, how(samples)) for how in (median, min)
        )
        clocks = [value for value in row.get("sm_clock_mhz") or [] if value is not None]
        row["sm_clock_mhz"] = float(median(clocks)) if clocks else None
    found = pd.DataFrame(lines, columns=[*own_columns("ceilings")])
    best = found.filter(regex="^best_").astype("float64").max(axis=1).fillna(0)
    first = best[best > 0].groupby([found["kind"], found["precision"]]).idxmax()
    return found.assign(is_ceiling=found.index.isin(first))


@one_sentence()
def main() -> None:
    """Write the table of ceilings."""
    given = stage_arguments(__doc__, measured=existing_file, output=new_file)
    path: Path = given.measured
    with reading(path, "a measurement of ceilings", remake(path), StageError):
        found = table(json.loads(path.read_text(encoding="utf-8")))
    write_csv(given.output, found)


if __name__ == "__main__":
    main()
