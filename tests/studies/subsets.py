"""Random tables that a study might have had: parts of published ones, with what can go wrong.

A subset keeps some points and lines, lets measurements fail, empties cells, leaves out columns that
older runs lack, scales times so that any verdict may come out, and may have run on a CPU.
"""

import random
from functools import cache
from pathlib import Path

import pandas as pd

from tests.published import published, read_study

ROOT = Path(__file__).parent.parent.parent
STATUSES = ("oom", "skipped", "failed", "not_supported")
KEPT = 12
"""Columns at a table's start that say what a line is; no run lacks them."""

Row = dict[str, object]


@cache
def recorded(study: str) -> pd.DataFrame:
    """The published table of a study, or the run's ceilings."""
    tables = published("h200") / "tables"
    return read_study(tables / ("ceilings.csv" if study == "ceilings" else f"studies/{study}.csv"))


@cache
def _numbers(study: str) -> tuple[str, ...]:
    """The columns of numbers that a run may lack."""
    table = recorded(study)
    return tuple(c for c in table.columns[KEPT:] if pd.api.types.is_numeric_dtype(table[c]))


def subset(seed: int, study: str) -> pd.DataFrame:
    """The `seed`-th subset of a study's table."""
    draw, numbers = random.Random(seed), _numbers(study)
    rows = _lines(draw, recorded(study))
    for row in rows[:: draw.choice([2, 3, 10, 1000])]:
        _scale(row, 10 ** draw.uniform(-1, 1))
    _fail(draw, rows, numbers)
    for _ in range(draw.choice([0, 0, 1, 5])):
        draw.choice(rows)[draw.choice(numbers)] = None
    gone = set(draw.sample(numbers, min(len(numbers), draw.choice([0, 0, 1, 3]))))
    on_cpu = draw.random() < 0.2
    made = pd.DataFrame([_on_cpu(row) if on_cpu else row for row in rows])
    made = made.drop(columns=[c for c in made if c in gone]).drop_duplicates()
    return made.set_index(pd.RangeIndex(2, len(made) + 2))


def _lines(draw: random.Random, table: pd.DataFrame) -> list[Row]:
    points = [str(point) for point in table["point"].unique()]
    chosen = draw.sample(points, draw.randint(1, len(points)))
    rows = [row for row in table.to_dict("records") if row["point"] in chosen]
    share = draw.choice([1.0, 1.0, 0.5, 0.1])
    kept = [row for row in rows if draw.random() < share] or rows[:1]
    return [{str(key): cell for key, cell in row.items()} for row in kept]


def _scale(row: Row, factor: float) -> None:
    for name, cell in row.items():
        if name.endswith("_ms") and isinstance(cell, int | float):
            row[name] = cell * factor


def _fail(draw: random.Random, rows: list[Row], numbers: tuple[str, ...]) -> None:
    share = draw.choice([0.0, 0.0, 0.1, 0.5, 1.0])
    for row in rows:
        if draw.random() < share:
            row |= dict.fromkeys(numbers)
            row["status"] = draw.choice(STATUSES)
            row["reason"] = draw.choice(["CUDA out of memory", "no compiler", None])


def _on_cpu(row: Row) -> Row:
    known = {name: cell for name, cell in row.items() if not name.startswith("host_operation")}
    device: Row = {"device": "cpu"} if "device" in row else {}
    return known | {"gpu": None} | device
