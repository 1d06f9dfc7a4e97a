"""The ceilings of the machine: the best rate measured of each kind, precision and use of memory."""

import pandas as pd

from workflow_src.answers.tables import Tables
from workflow_src.common.ceilings import RATES
from workflow_src.paper.value import Cell, Rows, value

KINDS = {"bandwidth": "memory", "compute": "matrix product", "exponential": "exponentials"}
"""What each kind of ceiling is of; rows of other kinds are none."""

UNITS = {"gb_per_s": "GB/s", "tflop_per_s": "TFLOP/s", "giga_exp_per_s": "10^9 exp/s"}

COLUMNS = ["ceiling of", "precision", "reached by", "best", "median", "unit", "clock, MHz"]


def ceilings(tables: Tables) -> pd.DataFrame:
    """A row per ceiling; empty for a run without any."""
    rows = tables["ceilings"]
    if "is_ceiling" not in rows:
        return pd.DataFrame(columns=COLUMNS, dtype="object")
    # What reads and writes is bound by another rate than what only writes.
    memory = rows["kind"] == "bandwidth"
    best = rows[memory | (rows["is_ceiling"].astype(str) == "True")]
    lines = [_line(int(number), best.loc[number]) for number in best.index]
    return pd.DataFrame([line for line in lines if line], columns=COLUMNS, dtype="object")


def _line(number: int, row: pd.Series) -> list[Cell]:
    kind = str(row["kind"])
    if kind not in KINDS:
        return []
    unit = RATES[kind][1]
    source = Rows("ceilings", (number,))
    by = [str(row.get(name, "")) for name in ("name", "shape", "layout")]
    best, middle = (value(row.get(f"{end}_{unit}"), "", source) for end in ("best", "median"))
    clock = value(row.get("sm_clock_mhz"), "MHz", source)
    said = " ".join(word for word in by if word not in ("", "nan"))
    precision = str(row["precision"]) if kind == "compute" else None
    return [KINDS[kind], precision, said, best, middle, UNITS[unit], clock]
