"""In what two runs' environments differ, and what they leave in doubt."""

import math

import numpy as np
import pandas as pd

from workflow_src.answers.machines import BUSY, CHANGED, SHARED, THROTTLED, conditions, warned
from workflow_src.common.case import VARIED
from workflow_src.common.environment import HOST_SPEEDS, SAME_EVERYWHERE
from workflow_src.common.thresholds import SLOWER_HOST
from workflow_src.compare.runs import Measured
from workflow_src.paper.run import Run

COMPARED = (*SAME_EVERYWHERE, "cpu_cores", "gpu_memory_gib", "python")
"""Columns of environments.csv."""

WORK = ("d_model", "d_ff", "layers", "heads", "vocabulary", *VARIED)
"""Columns of the plan that say what a case computes: another value is another case."""

SETTINGS = (
    *("device", "warmup_steps", "steps", "processes", "capture_steps", "profiler"),
    *("seed", "memory_limit_gib"),
)
"""Columns of the plan that say how it was measured."""


def doubts(a: Measured, b: Measured) -> pd.DataFrame:
    """By case whether the device was shared or throttled, and whether the host's speed changed or
    differs, or it was loaded, in either run."""
    ours, theirs = (_disturbed(run.tables) for run in (a, b))
    cases = ours.index.union(theirs.index, sort=False)
    made = ours.reindex(cases, fill_value=False) | theirs.reindex(cases, fill_value=False)
    for name in HOST_SPEEDS:
        us = [_by_case(run.tables)[f"{name}_before"].reindex(cases) for run in (a, b)]
        made["host"] |= np.fmax(us[0], us[1]) > SLOWER_HOST * np.fmin(us[0], us[1])
    return made


def _by_case(run: Run) -> pd.DataFrame:
    return run["environments"].drop_duplicates("case").set_index("case")


def _disturbed(run: Run) -> pd.DataFrame:
    rows = conditions(run)
    told = warned(run, rows).set_axis(rows["case"]).eq(True)
    device, host = told[[THROTTLED, SHARED]], told[[BUSY, CHANGED]]
    return pd.DataFrame({"device": device.any(axis=1), "host": host.any(axis=1)})


def same_host(a: Measured, b: Measured, cases: pd.Index) -> str:
    """Whether each case ran on the same host in both runs: yes, no or unknown; one that booted in
    between is another."""
    ours, theirs = (_by_case(r.tables)["host_id"].reindex(cases, fill_value="") for r in (a, b))
    known = (ours != "") & (theirs != "")
    if (known & (ours != theirs)).any():
        return "no"
    return "yes" if len(cases) and known.all() else "unknown"


def differences(a: Measured, b: Measured, cases: pd.Index) -> pd.DataFrame:
    """The recorded properties in which the measurements of `cases` differ: what, a, b."""
    both, tables = (a.tables, b.tables), {"environments": COMPARED, "plan": SETTINGS}
    rows = [
        (name, *(_seen(run, table, name, cases) for run in both))
        for table, names in tables.items()
        for name in names
    ]
    for name, what in HOST_SPEEDS.items():
        us = [_speed(run, name, cases) for run in both]
        if max(us) > SLOWER_HOST * min(us):
            rows.append((f"{what} on the host", *(f"{each:.2f} us" for each in us)))
    if same_host(a, b, cases) == "no":
        rows.append(("host", *(_seen(run, "environments", "host_id", cases) for run in both)))
    found = pd.DataFrame(rows, columns=["what", "a", "b"])
    return found[found["a"] != found["b"]]


def _seen(run: Run, table: str, column: str, cases: pd.Index) -> str:
    """Values of a column, most frequent first."""
    rows = run[table]
    texts = _texts(rows.loc[rows["case"].isin(cases), column])
    return ", ".join(texts.replace("", "none").value_counts().index) or "not recorded"


def _texts(cells: pd.Series) -> pd.Series:
    """Cells as they were written; "" where empty."""
    if cells.dtype == float:
        return cells.map("{:.10g}".format).where(cells.notna(), "").astype(object)
    return cells.astype(str).astype(object)


def _speed(run: Run, name: str, cases: pd.Index) -> float:
    """The median, us."""
    rows = run["environments"]
    cells = rows.loc[rows["case"].isin(cases), [f"{name}_before", f"{name}_after"]]
    return float(np.nanmedian(cells)) if cells.notna().any(axis=None) else math.nan


def other_work(a: Measured, b: Measured, cases: pd.Index) -> pd.DataFrame:
    """Cases of one name that compute something else in each run: case, and the first column of WORK
    that differs, with its value in a and b."""
    ours, theirs = (_work(run.tables).reindex(cases, fill_value="") for run in (a, b))
    differ = (ours != theirs) & (ours != "") & (theirs != "")
    rows = [
        (case, name, ours.at[case, name], theirs.at[case, name])
        for case, name in differ[differ.any(axis=1)].idxmax(axis=1).items()
    ]
    return pd.DataFrame(rows, columns=["case", "what", "a", "b"])


def _work(run: Run) -> pd.DataFrame:
    """What the plan says of WORK by case; "" for nothing."""
    return run["plan"].set_index("case")[[*WORK]].apply(_texts).astype(object)
