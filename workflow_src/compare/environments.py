"""How the environments and settings of two runs differ."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from workflow_src.answers.conditions import conditions
from workflow_src.answers.tables import Tables
from workflow_src.common.environment import HOST_SPEEDS, SAME_EVERYWHERE
from workflow_src.common.thresholds import HOST_CHANGED
from workflow_src.compare.rows import Row, of
from workflow_src.compare.runs import Run

COMPARED = (*SAME_EVERYWHERE, "cpu_cores", "gpu_memory_gib", "python")
"""Columns of environments.csv."""

WORK = (
    *("d_model", "d_ff", "layers", "heads", "vocabulary"),
    *("batch", "context", "precision", "attention", "optimizer"),
)
"""Columns of the plan that say what a case computes: another value is another case."""

SETTINGS = (
    *("device", "warmup_steps", "steps", "processes", "capture_steps", "profiler"),
    *("os_tracing", "seed", "memory_limit_gib"),
)
"""Columns of the plan that say how it was measured."""

UNRECORDED = "not recorded"


def differences(a: Run, b: Run, cases: Sequence[Row]) -> list[Row]:
    """A row per recorded property in which the two runs' measurements of `cases` differ."""
    names = [case["case"] for case in cases]
    rows = [_row(name, *(_seen(run.tables["environments"], names, name) for run in (a, b)))
            for name in COMPARED]  # fmt: skip
    rows += [_row(name, *(_planned(run, names, name) for run in (a, b))) for name in SETTINGS]
    rows += [_row("cases with a warning", *(_warned(run, names) for run in (a, b)))]
    return [row for row in rows if row["a"] != row["b"]] + _host_speeds(a, b, names)


def _row(name: str, a: str, b: str) -> Row:
    return {"what": name, "a": a, "b": b}


def _seen(table: pd.DataFrame, names: Sequence[str], column: str) -> str:
    """The values of a column for these cases, most frequent first."""
    if column not in table.columns:
        return UNRECORDED
    values = table.loc[table["case"].isin(names), column]
    shown = ["none" if pd.isna(value) or value == "" else str(value) for value in values]
    return ", ".join(word for word, _ in Counter(shown).most_common()) or UNRECORDED


def _planned(run: Run, names: Sequence[str], column: str) -> str:
    return UNRECORDED if run.plan is None else _seen(run.plan, names, column)


def _warned(run: Run, names: Sequence[str]) -> str:
    return f"{len(warned(run, names))} of {len(names)}"


def warned(run: Run, names: Sequence[str]) -> list[str]:
    """The cases whose measurement has a warning: a busy, shared, throttled or changing machine."""
    measured = conditions(Tables({"environments": run.tables["environments"]}))
    return [each.case for each in measured if each.case in names and each.warnings]


def _host_speeds(a: Run, b: Run, names: Sequence[str]) -> list[Row]:
    """The hosts' speeds where they differ by more than HOST_CHANGED."""
    rows = []
    for name, what in HOST_SPEEDS.items():
        speeds = [_median_speed(run.tables["environments"], names, name) for run in (a, b)]
        if max(speeds) > HOST_CHANGED * min(speeds):
            rows.append(_row(f"{what} on the host", *(f"{us:.2f} us" for us in speeds)))
    return rows


def _median_speed(table: pd.DataFrame, names: Sequence[str], name: str) -> float:
    columns = [f"{name}_{when}" for when in ("before", "after") if f"{name}_{when}" in table]
    cells = table.loc[table["case"].isin(names), columns].to_numpy().ravel()
    values = pd.to_numeric(pd.Series(cells, dtype="object"), errors="coerce").dropna()
    return float(np.median(values)) if len(values) else float("nan")


def other_work(a: Run, b: Run, cases: Sequence[Row]) -> dict[str, str]:
    """Cases of the same name that compute something else in each run, and how they differ."""
    found = {}
    for case in cases:
        name = case["case"]
        ours, theirs = (_work(run, name) for run in (a, b))
        known = [column for column in WORK if column in ours and column in theirs]
        different = [column for column in known if ours[column] != theirs[column]]
        if different:
            column = different[0]
            found[name] = f"{column} is {ours[column]} in A and {theirs[column]} in B"
    return found


def _work(run: Run, case: str) -> dict[str, str]:
    """The columns of WORK that are recorded for a case, from its plan and its timings."""
    row: dict[str, str] = {}
    for table in (run.tables["timings"], run.plan):
        mine = pd.DataFrame() if table is None else of(table, case)
        if len(mine):
            row |= {c: str(mine[c].iloc[0]) for c in WORK if c in mine and c not in row}
    return row
