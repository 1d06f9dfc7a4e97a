"""Random runs that might have been: parts of recorded tables, with what runs may lack or go wrong.

A subset keeps 1 to 20 cases of a recorded run (at times of one size, precision or phase), leaves
out optional tables and columns, empties single cells, lets phases run out of memory or be skipped,
and scales the times of each case, so that any verdict may come out.
"""

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd

from tests.published import read_study
from workflow_src.common.case import CASE_COLUMNS, PHASES
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.common.table_schema import columns

ROOT = Path(__file__).parent.parent.parent
Tables = Mapping[str, pd.DataFrame]
OF_THE_MACHINE = {"ceilings"}
"""Tables whose rows belong to no case."""

H200 = ROOT / "examples" / "h200" / "tables"
OPTIONAL = ("ledger", "environments", "operators", "products", "ceilings")
OPTIONAL += ("alignment",)
TIMES = ("ms", "ns")
BENCHMARK_ONLY = ("timings",)
READ = (
    *("timings", "ranges", "kernels", "captures", "work", "environments", "ledger", "products"),
    *("operators", "alignment", "remedies", "ceilings"),
)
"""The tables that answers read."""
DESCRIBED = [each for name in READ for each in columns(name).values()]
TEXTS = frozenset(each.column for each in DESCRIBED if each.is_text)
FILLED = frozenset(each.column for each in DESCRIBED if each.check == "filled")


@cache
def recorded(folder: Path = H200) -> Mapping[str, pd.DataFrame]:
    """The tables of a recorded run, and those of its studies as "studies/{name}"."""
    found = {name: folder / f"{name}.csv" for name in READ}
    there = {name: path for name, path in found.items() if path.is_file()}
    tables = {name: with_texts(read_table(path, name), name) for name, path in there.items()}
    studies = {f"studies/{path.stem}": read_study(path) for path in folder.glob("studies/*.csv")}
    return tables | studies


def subset(seed: int, folder: Path = H200) -> Tables:
    draw = random.Random(seed)
    tables = dict(recorded(folder))
    chosen = _cases(draw, tables["timings"])
    tables = {
        name: table if name in OF_THE_MACHINE or name.startswith("studies/") else _of(table, chosen)
        for name, table in tables.items()
    }
    if draw.random() < 0.2:
        tables = _one_phase(tables, draw.choice(PHASES))
    tables = _gone_wrong(draw, tables, chosen)
    tables = {name: _scaled(draw, table, chosen) for name, table in tables.items()}
    tables = {name: _emptied(draw, name, table) for name, table in tables.items()}
    return {name: table for name, table in tables.items() if _kept(draw, name)}


def written(tables: Tables, folder: Path) -> Path:
    for name, table in tables.items():
        path = folder / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without a column, rows may be alike; no run has such.
        table.drop_duplicates().to_csv(path, index=False)
    return folder


def _cases(draw: random.Random, timings: pd.DataFrame) -> list[str]:
    """Between 1 and 20 cases, at times of one size, one precision or one context."""
    axis = draw.choice(["case", "case", "size", "precision", "context"])
    pool = timings.drop_duplicates("case")
    if axis != "case":
        pool = pool[pool[axis] == draw.choice(sorted(pool[axis].unique()))]
    names = [str(name) for name in pool["case"]]
    most = draw.choice([1, 2, 3, 20])
    return draw.sample(names, min(len(names), draw.randint(1, most)))


def _of(table: pd.DataFrame, cases: list[str]) -> pd.DataFrame:
    return _counted(table[table["case"].isin(cases)])


def _counted(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_index(pd.RangeIndex(2, len(table) + 2))


def _one_phase(tables: dict[str, pd.DataFrame], phase: str) -> dict[str, pd.DataFrame]:
    return {
        name: _counted(table[table["phase"] == phase])
        if "phase" in table and not name.startswith("studies/")
        else table
        for name, table in tables.items()
    }


def _gone_wrong(
    draw: random.Random, tables: dict[str, pd.DataFrame], cases: list[str]
) -> dict[str, pd.DataFrame]:
    """Phases that ran out of memory or were skipped, and captures that are missing or empty."""
    for case in cases:
        if draw.random() < 0.2:
            first = draw.randrange(len(PHASES))
            for place, phase in enumerate(PHASES[first:]):
                tables = _without(tables, case, phase, "oom" if place == 0 else "skipped")
        if draw.random() < 0.1:
            tables = _uncaptured(tables, case)
        if draw.random() < 0.05:
            tables = {
                name: _counted(table[table["case"] != case]) if name in BENCHMARK_ONLY else table
                for name, table in tables.items()
            }
    return tables


def _without(
    tables: dict[str, pd.DataFrame], case: str, phase: str, status: str
) -> dict[str, pd.DataFrame]:
    found = {}
    for name, table in tables.items():
        if "phase" not in table or name.startswith("studies/"):
            found[name] = table
            continue
        mine = (table["case"] == case) & (table["phase"] == phase)
        if name != "timings":
            found[name] = _counted(table[~mine])
            continue
        kept = ("phase", "status", "reason", *CASE_COLUMNS)
        numbers = [c for c in table.columns if c not in kept]
        table = table.copy()
        table.loc[mine, numbers] = None
        table.loc[mine, ["status", "reason"]] = [status, "it ran out of memory before"]
        for column in {"replay_status", "replay_reason"} & set(table):
            table[column] = table[column].fillna("").astype("object")
        found[name] = table
    return found


def _uncaptured(tables: dict[str, pd.DataFrame], case: str) -> dict[str, pd.DataFrame]:
    found = dict(tables)
    for name in ("kernels", "ledger", "operators", "products"):
        if name in found:
            found[name] = _counted(found[name][found[name]["case"] != case])
    captures = found["captures"].copy()
    counted = [c for c in captures if c.endswith(("_ns", "activities"))]
    captures.loc[captures["case"] == case, counted] = 0
    found["captures"] = captures
    return found


def _scaled(draw: random.Random, table: pd.DataFrame, cases: list[str]) -> pd.DataFrame:
    """The table with all times of each case scaled, differently in each table."""
    times = table.columns[table.columns.str.endswith(tuple(f"_{unit}" for unit in TIMES))]
    columns = [column for column in times if column not in TEXTS]
    if "case" not in table or not columns or draw.random() < 0.7:
        return table
    factors = {case: 10 ** draw.uniform(-1, 1) for case in cases}
    scale = table["case"].map(factors).fillna(1.0)
    scaled = {column: pd.to_numeric(table[column]) * scale for column in columns}
    whole = [column for column in columns if column.endswith("_ns")]
    table = table.assign(**scaled)
    return table.assign(**{column: table[column].round() for column in whole})


def _emptied(draw: random.Random, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table without some optional columns and single values."""
    required = {*_empty(name), *CASE_COLUMNS}
    optional = [c for c in table.columns if c not in required]
    if name.startswith("studies/") or not optional:
        return table
    gone = draw.sample(optional, draw.randint(0, min(3, len(optional))))
    table = table.drop(columns=gone) if draw.random() < 0.3 else table
    if draw.random() < 0.3 and len(table):
        numbers = [c for c in optional if c in table and c not in FILLED]
        for column in numbers[:1] and draw.sample(numbers, 1):
            row = draw.choice(list(table.index))
            text = not pd.api.types.is_numeric_dtype(table[column])
            table = table.copy() if text else table.astype({column: "float64"})
            table.loc[row, column] = "" if text else float("nan")
    return table


def _kept(draw: random.Random, name: str) -> bool:
    return not (name in OPTIONAL or name.startswith("studies/")) or draw.random() < 0.8


def empty() -> Tables:
    return {name: _empty(name) for name in READ}


def _empty(name: str) -> pd.DataFrame:
    return pd.DataFrame(columns=[c.column for c in columns(name).values() if c.is_required])
