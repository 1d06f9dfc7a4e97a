"""The table of a machine's ceilings: rates and their spread."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.ceilings import RATES, SUSTAINED, SUSTAINED_ZEROS, rate_of
from workflow_src.common.environment import MEASURED_WITH
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.common.summary import spread
from workflow_src.common.table_schema import own_columns

Row = Mapping[str, Any]

ABOUT = ("kind", "name", "precision", "dtype", "shape", "layout", "status", "reason")
POWER = ("power_w", "power_limit_w", "power_capped")
"""Of sustained products only: medians, and the share of readings at which power limits the clock.

Older runs have a power elsewhere, too, which was not that of the work.
"""


def tabulated(row: Row) -> dict[str, Any]:
    """A raw row's line of the table: its rates in the unit of its kind, and spread."""
    line = {name: row[name] for name in ABOUT}
    if row["status"] != "ok":
        return line
    if row["kind"] in (SUSTAINED, SUSTAINED_ZEROS):
        # Its second half: in the first its clock may still be falling.
        half = len(row["samples_ns"]) // 2
        settled = {name: row[name][half:] for name in ("samples_ns", "sm_clock_mhz", *POWER)}
        row = {**row, **settled}
        capped = [value for value in row["power_capped"] if value is not None]
        line |= {name: _middle(row[name]) for name in POWER[:2]}
        line["power_capped"] = sum(capped) / len(capped) if capped else None
    unit, samples = RATES[row["kind"]][1], row["samples_ns"]
    return line | {
        f"median_{unit}": rate_of(row, median(samples)),
        f"best_{unit}": rate_of(row, min(samples)),
        **spread(samples),
        "sm_clock_mhz": _middle(row.get("sm_clock_mhz")),
    }


def _middle(readings: Sequence[float | None] | None) -> float | None:
    known = [value for value in readings or [] if value is not None]
    return float(median(known)) if known else None


def table(result: Mapping[str, Any]) -> pd.DataFrame:
    """A row per ceiling measurement, with `is_ceiling` for the best of its kind and precision.

    What is sustained is none.
    """
    around = {name: result["environment"].get(name, "") for name in MEASURED_WITH}
    lines = [tabulated(row) | around for row in result["rows"]]
    found = pd.DataFrame(lines, columns=[*own_columns("ceilings")])
    rates = found.filter(regex="^best_").astype("float64")
    best = rates.max(axis=1).where(~found["kind"].isin([SUSTAINED, SUSTAINED_ZEROS])).fillna(0)
    first = best[best > 0].groupby([found["kind"], found["precision"]]).idxmax()
    return found.assign(is_ceiling=found.index.isin(first))


@one_sentence()
def main() -> None:
    """Write the table of ceilings."""
    parser = Parser(description=__doc__)
    parser.add_argument("--measured", type=existing_file, required=True, help="ceilings.json")
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    path: Path = given.measured
    with reading(path, "a measurement of ceilings", remake(path), StageError):
        found = table(json.loads(path.read_text(encoding="utf-8")))
    write_csv(given.output, found)


if __name__ == "__main__":
    main()
