"""Random tables that a study might have had: parts of published ones, with what can go wrong.

A subset keeps some points and lines, lets measurements fail, empties cells, leaves out columns that
older runs lack, scales times so that any verdict may come out, and may have run on a CPU.
"""

import random
from functools import cache
from pathlib import Path

import pandas as pd

from workflow_src.common.study_table import read_study

ROOT = Path(__file__).parent.parent.parent
H200 = ROOT / "examples" / "h200" / "tables"
STATUSES = ("oom", "skipped", "failed", "not_supported")
KEPT = 12
"""Columns at a table's start that say what a line is; no run lacks them."""


@cache
def recorded(study: str) -> pd.DataFrame:
    """The published table of a study, or the run's ceilings."""
    path = H200 / "ceilings.csv" if study == "ceilings" else H200 / "studies" / f"{study}.csv"
    return read_study(path)


def subset(seed: int, study: str) -> pd.DataFrame:
    """The `seed`-th subset of a study's table."""
    draw = random.Random(seed)
    table = _lines(draw, recorded(study))
    numbers = [c for c in table.columns[KEPT:] if pd.api.types.is_numeric_dtype(table[c])]
    table = table.astype(dict.fromkeys(numbers, "float64"))
    for number in table.index[:: draw.choice([2, 3, 10, 1000])]:
        factor = 10 ** draw.uniform(-1, 1)
        times = [c for c in numbers if c.endswith("_ms")]
        table.loc[number, times] = table.loc[number, times] * factor
    table = _failed(draw, table, numbers)
    for _ in range(draw.choice([0, 0, 1, 5])):
        table.loc[draw.choice(list(table.index)), draw.choice(numbers)] = float("nan")
    gone = draw.sample(numbers, min(len(numbers), draw.choice([0, 0, 1, 3])))
    table = table.drop(columns=gone)
    if draw.random() < 0.2:
        table["profiler_stayed"] = True
    return _on_cpu(table) if draw.random() < 0.2 else table


def _lines(draw: random.Random, table: pd.DataFrame) -> pd.DataFrame:
    points = [str(point) for point in table["point"].unique()]
    chosen = draw.sample(points, draw.randint(1, len(points)))
    table = table[table["point"].isin(chosen)]
    share = draw.choice([1.0, 1.0, 0.5, 0.1])
    kept = [number for number in table.index if draw.random() < share]
    table = table.loc[kept or table.index[:1]].copy()
    return table.set_index(pd.RangeIndex(2, len(table) + 2))


def _failed(draw: random.Random, table: pd.DataFrame, numbers: list[str]) -> pd.DataFrame:
    share = draw.choice([0.0, 0.0, 0.1, 0.5, 1.0])
    table["reason"] = table["reason"].astype("object")
    for number in table.index:
        if draw.random() < share:
            table.loc[number, numbers] = float("nan")
            table.loc[number, "status"] = draw.choice(STATUSES)
            table.loc[number, "reason"] = draw.choice(["CUDA out of memory", "no compiler", None])
    return table


def _on_cpu(table: pd.DataFrame) -> pd.DataFrame:
    table = table.drop(columns=[c for c in table if c.startswith("host_operation")])
    device = {"device": "cpu"} if "device" in table else {}
    return table.assign(gpu=float("nan"), **device)
