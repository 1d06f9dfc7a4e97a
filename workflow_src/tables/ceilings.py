"""The table of a machine's ceilings: rates, spread, and samples that lie on two levels."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from workflow_src.common.units import NS_PER_MS

Row = dict[str, Any]

ABOUT = ("kind", "name", "precision", "dtype", "shape", "layout", "status", "reason")
TIMES = ("samples", "median_ms", "p20_ms", "p80_ms", "cv")
POWER = ("power_w", "power_limit_w", "power_capped")
"""Of sustained products only: medians, and the share of readings at which power limits the clock.

Older runs have a power elsewhere, too, which was not that of the work.
"""

UNITS = tuple(dict.fromkeys(unit for _, unit, _ in RATES.values()))
COLUMNS = (
    *ABOUT,
    *(f"{which}_{unit}" for unit in UNITS for which in ("median", "best")),
    *TIMES,
    "sm_clock_mhz",
    *POWER,
    "bimodal",
    "remark",
    "is_ceiling",
    *MEASURED_WITH,
)

CLUSTER = 0.2
"""Each of two levels holds at least this share of the samples."""

GAP = 0.5
"""The gap between two levels is at least this share of the distance from the 10th to the 90th
percentile of all samples; of evenly spread samples it would be about 1 / their number."""

APART = 0.02
"""Levels that differ by less than this share of the median are one."""


@dataclass(frozen=True)
class Level:
    """Samples of similar times: their share of all, median time and the median clock then."""

    share: float
    ms: float
    sm_clock_mhz: float | None

    def text(self) -> str:
        """The level in words: "1.20 ms (60 % of samples, SM at 1980 MHz)"."""
        clock = "" if self.sm_clock_mhz is None else f", SM at {self.sm_clock_mhz:.0f} MHz"
        return f"{self.ms:.3g} ms ({100 * self.share:.0f} % of samples{clock})"


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


def levels(row: Mapping[str, Any]) -> list[Level]:
    """The two levels of a row's samples, the fast one first; empty if there is one."""
    samples = row["samples_ns"]
    between = split(samples)
    if between is None:
        return []
    fast = [place for place, ns in enumerate(samples) if ns < between]
    slow = [place for place, ns in enumerate(samples) if ns > between]
    return [_level(row, places) for places in (fast, slow)]


def _level(row: Mapping[str, Any], places: Sequence[int]) -> Level:
    samples, clocks = row["samples_ns"], row.get("sm_clock_mhz") or []
    read = [clocks[at] for p in places if (at := p // row["samples_per_group"]) < len(clocks)]
    ms = median(samples[place] for place in places) / NS_PER_MS
    return Level(len(places) / len(samples), ms, _middle(read))


def tabulated(row: Mapping[str, Any]) -> Row:
    """A raw row's line of the table: its rates in the unit of its kind, spread and remark."""
    line: Row = {name: row[name] for name in ABOUT}
    if row["status"] != "ok":
        return line | {"bimodal": False, "remark": row["reason"]}
    power: Row = {}
    if row["kind"] in (SUSTAINED, SUSTAINED_ZEROS):
        row = _settled(row)
        power = {name: _middle(row[name]) for name in POWER[:2]}
        power["power_capped"] = _share(row["power_capped"])
    unit = RATES[row["kind"]][1]
    times = spread(row["samples_ns"])
    found = levels(row)
    remark = f"two levels: {' and '.join(level.text() for level in found)}" if found else ""
    return (
        line
        | {name: times[name] for name in TIMES}
        | {f"median_{unit}": rate_of(row, median(row["samples_ns"]))}
        | {f"best_{unit}": rate_of(row, min(row["samples_ns"]))}
        | {
            "sm_clock_mhz": _middle(row.get("sm_clock_mhz")),
            **power,
            "bimodal": bool(found),
            "remark": remark,
        }
    )


def _settled(row: Mapping[str, Any]) -> Row:
    """A sustained row's second half: in the first its clock may still be falling."""
    half = len(row["samples_ns"]) // 2
    return dict(row) | {name: row[name][half:] for name in ("samples_ns", "sm_clock_mhz", *POWER)}


def _share(readings: Sequence[bool | None]) -> float | None:
    known = [value for value in readings if value is not None]
    return sum(known) / len(known) if known else None


def _middle(readings: Sequence[float | None] | None) -> float | None:
    known = [value for value in readings or [] if value is not None]
    return float(median(known)) if known else None


def table(result: Mapping[str, Any]) -> pd.DataFrame:
    """A row per ceiling measurement, with `is_ceiling` for the best of its kind and precision."""
    environment = result["environment"]
    around = {name: environment.get(name, "") for name in MEASURED_WITH}
    lines = [tabulated(row) | around for row in result["rows"]]
    for line in lines:
        alike = [each for each in lines if _group(each) == _group(line)]
        best = max((_best(each) for each in alike), default=0.0)
        line["is_ceiling"] = line is next((e for e in alike if _best(e) == best > 0), None)
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _group(line: Row) -> tuple[str, str]:
    return line["kind"], line["precision"]


def _best(line: Row) -> float:
    if line["kind"] in (SUSTAINED, SUSTAINED_ZEROS):
        return 0.0
    return float(line.get(f"best_{RATES[line['kind']][1]}") or 0.0)


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
