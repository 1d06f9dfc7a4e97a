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

from tests.published import H200, read_study
from workflow_src.common.case import CASE_COLUMNS, PHASES
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.common.table_schema import columns

Tables = dict[str, pd.DataFrame]

OPTIONAL = {"ledger", "environments", "operators", "ceilings", "alignment"}
READ = (
    *("timings", "ranges", "kernels", "captures", "work", "environments", "ledger"),
    *("operators", "alignment", "remedies", "ceilings"),
)
"""The tables that answers read; of the last, no row belongs to a case."""
DESCRIBED = {name: columns(name).values() for name in READ}
REQUIRED = {
    name: [each.column for each in found if each.is_required] for name, found in DESCRIBED.items()
}
TEXTS = {each.column for found in DESCRIBED.values() for each in found if each.is_text}
FILLED = {each.column for found in DESCRIBED.values() for each in found if each.check == "filled"}


@cache
def recorded(folder: Path) -> Mapping[str, pd.DataFrame]:
    """The tables of a recorded run, and those of its studies as "studies/{name}"."""
    found = {name: folder / f"{name}.csv" for name in READ}
    there = {name: path for name, path in found.items() if path.is_file()}
    tables = {name: with_texts(read_table(path, name), name) for name, path in there.items()}
    return tables | {f"studies/{p.stem}": read_study(p) for p in folder.glob("studies/*.csv")}


def subset(seed: int, folder: Path = H200 / "tables") -> Tables:
    draw = random.Random(seed)
    tables = dict(recorded(folder))
    chosen = _cases(draw, tables["timings"])
    of_cases = {name for name in tables if name in READ[:-1]}
    tables |= {name: tables[name][tables[name]["case"].isin(chosen)] for name in of_cases}
    of_phases = {name for name in of_cases if "phase" in tables[name]}
    if draw.random() < 0.2:
        phase = draw.choice(PHASES)
        tables |= {name: tables[name][tables[name]["phase"] == phase] for name in of_phases}
    for case in chosen:
        _gone_wrong(draw, tables, case, of_phases)
    tables = {name: _scaled(draw, table, chosen) for name, table in tables.items()}
    tables |= {name: _emptied(draw, name, tables[name]) for name in tables if name in READ}
    return {
        name: table
        for name, table in tables.items()
        if (name in READ and name not in OPTIONAL) or draw.random() < 0.8
    }


def empty() -> Tables:
    return {name: pd.DataFrame(columns=names) for name, names in REQUIRED.items()}


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


def _gone_wrong(draw: random.Random, tables: Tables, case: str, of_phases: set[str]) -> None:
    """Let phases of a case run out of memory or be skipped, or its capture be missing or empty."""

    def without(names: set[str], phases: tuple[str, ...] = PHASES) -> None:
        for name in names & {*tables}:
            table = tables[name]
            gone = table["case"] == case
            gone &= table["phase"].isin(phases) if name in of_phases else True
            tables[name] = table[~gone]

    if draw.random() < 0.2:
        lost = PHASES[draw.randrange(len(PHASES)) :]
        table = tables["timings"].copy()
        of_case = table["case"] == case
        mine = of_case & table["phase"].isin(lost)
        kept = {"phase", "status", "reason", *CASE_COLUMNS}
        table.loc[mine, [name for name in table if name not in kept]] = None
        table.loc[mine, ["status", "reason"]] = ["skipped", "it ran out of memory before"]
        table.loc[of_case & (table["phase"] == lost[0]), "status"] = "oom"
        for column in {"replay_status", "replay_reason"} & {*table}:
            table[column] = table[column].fillna("").astype("object")
        tables["timings"] = table
        without(of_phases - {"timings"}, lost)
    if draw.random() < 0.1:
        without({"kernels", "ledger", "operators"})
        captures = tables["captures"].copy()
        counted = [name for name in captures if name.endswith(("_ns", "activities"))]
        captures.loc[captures["case"] == case, counted] = 0
        tables["captures"] = captures
    if draw.random() < 0.05:
        without({"timings"})


def _scaled(draw: random.Random, table: pd.DataFrame, cases: list[str]) -> pd.DataFrame:
    """The table with all times of each case scaled, differently in each table."""
    times = [name for name in table if name.endswith(("_ms", "_ns")) and name not in TEXTS]
    if "case" not in table or not times or draw.random() < 0.7:
        return table
    factors = {case: 10 ** draw.uniform(-1, 1) for case in cases}
    scale = table["case"].map(factors).fillna(1.0)
    scaled = {name: pd.to_numeric(table[name]) * scale for name in times}
    return table.assign(
        **{name: each.round() if name.endswith("_ns") else each for name, each in scaled.items()}
    )


def _emptied(draw: random.Random, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table without some optional columns and single values."""
    optional = [c for c in table if c not in {*REQUIRED[name], *CASE_COLUMNS}]
    if not optional:
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
