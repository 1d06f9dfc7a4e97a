"""The table of a machine's ceilings: rates, spread, and samples that lie on two levels."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.ceilings import FEWEST, RATES, SUSTAINED, SUSTAINED_ZEROS, rate_of
from workflow_src.common.environment import MEASURED_WITH
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.common.summary import spread
from workflow_src.common.table_schema import own_columns
from workflow_src.common.units import NS_PER_MS

Row = Mapping[str, Any]

ABOUT = ("kind", "name", "precision", "dtype", "shape", "layout", "status", "reason")
POWER = ("power_w", "power_limit_w", "power_capped")
"""Of sustained products only: medians, and the share of readings at which power limits the clock.

Older runs have a power elsewhere, too, which was not that of the work.
"""

CLUSTER = 0.2
"""Each of two levels holds at least this share of the samples."""

GAP = 0.5
"""The gap between two levels is at least this share of the distance from the 10th to the 90th
percentile of all samples; of evenly spread samples it would be about 1 / their number."""

APART = 0.02
"""Levels that differ by less than this share of the median are one."""


def split(samples_ns: Sequence[int]) -> float | None:
    """The time (ns) between two levels of samples; None if they lie on one, or are too few.

    It is in the middle of the widest gap between neighboring sorted samples that leaves CLUSTER of
    them on either side; see GAP and APART for how wide that must be.
    """
    ordered = np.sort(np.asarray(samples_ns, dtype=np.float64))
    least = int(np.ceil(CLUSTER * len(ordered)))
    if len(ordered) < FEWEST:
        return None
    gaps = np.diff(ordered)[least - 1 : len(ordered) - least]
    place = int(gaps.argmax())
    low, high = ordered[place + least - 1], ordered[place + least]
    inner = np.percentile(ordered, 90) - np.percentile(ordered, 10)
    wide = gaps[place] >= GAP * inner and gaps[place] >= APART * np.median(ordered)
    return float((low + high) / 2) if wide else None


def levels(row: Row) -> str:
    """The two levels of a row's samples in words, the fast one first; "" if there is one.

    As "two levels: 1.20 ms (60 % of samples, SM at 1980 MHz) and ...", a clock where one was read.
    """
    samples = np.asarray(row["samples_ns"])
    between = split(samples)
    if between is None:
        return ""
    clocks, said = row.get("sm_clock_mhz") or [], []
    for places in (np.flatnonzero(samples < between), np.flatnonzero(samples > between)):
        groups = places // row["samples_per_group"]
        clock = _middle([clocks[group] for group in groups if group < len(clocks)])
        at = "" if clock is None else f", SM at {clock:.0f} MHz"
        share, ms = len(places) / len(samples), np.median(samples[places]) / NS_PER_MS
        said.append(f"{ms:.3g} ms ({100 * share:.0f} % of samples{at})")
    return f"two levels: {' and '.join(said)}"


def tabulated(row: Row) -> dict[str, Any]:
    """A raw row's line of the table: its rates in the unit of its kind, spread and remark."""
    line = {name: row[name] for name in ABOUT}
    if row["status"] != "ok":
        return line | {"bimodal": False, "remark": row["reason"]}
    if row["kind"] in (SUSTAINED, SUSTAINED_ZEROS):
        # Its second half: in the first its clock may still be falling.
        half = len(row["samples_ns"]) // 2
        settled = {name: row[name][half:] for name in ("samples_ns", "sm_clock_mhz", *POWER)}
        row = {**row, **settled}
        capped = [value for value in row["power_capped"] if value is not None]
        line |= {name: _middle(row[name]) for name in POWER[:2]}
        line["power_capped"] = sum(capped) / len(capped) if capped else None
    unit, samples, remark = RATES[row["kind"]][1], row["samples_ns"], levels(row)
    rates = {
        f"median_{unit}": rate_of(row, median(samples)),
        f"best_{unit}": rate_of(row, min(samples)),
    }
    clock = {"sm_clock_mhz": _middle(row.get("sm_clock_mhz"))}
    return line | spread(samples) | rates | clock | {"bimodal": remark != "", "remark": remark}


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
    rates = found[[name for name in found if name.startswith("best_")]].astype("float64")
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
