"""What the difference between the steps of two captures is made of: findings, device and host.

All times are ms per step, means over the processes that have steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.compare.change import PLAIN_BEYOND, Change, apart
from workflow_src.compare.change import Kind as Time
from workflow_src.compare.work import Kind, beside, by_change

Tables = Mapping[str, pd.DataFrame]

PARTS = {
    "recorded_ms": "from step to step, under the profiler",
    "host_ms": "the host's own time",
    "blocked_ms": "the host is held up by the device",
    "device_ms": "a device works",
    "collective_wait_ms": "of it waiting in collectives",
}
"""Columns of diagnoses.csv in words."""

LEAST = 0.01
"""The share of A's step by which what the host does changed."""


@dataclass(frozen=True)
class StepsCompared:
    """How steps differ; each table has a_ms, b_ms and change_ms, largest change first.

    time: the change of the time from step to step, None if too few steps are known.
    parts: a row per one of PARTS; findings: per mechanism and path, with its name and `kind`, what
    a step saves without it, as far as that is known; host: per gap of the host or call that waits,
    and where. What one capture doesn't tell is compared in neither.
    """

    time: Change | None
    parts: pd.DataFrame
    findings: pd.DataFrame
    host: pd.DataFrame


def compare_steps(a: Tables, b: Tables, fewest: int) -> StepsCompared:
    """All that differs between the steps of two captures; `fewest` steps each are compared."""
    both = (a, b)
    time = _time(both, fewest)
    parts = by_change(beside(*map(_parts, both)).dropna(subset=["a_ms", "b_ms"], how="all"))
    findings = _findings_beside(both)
    host = by_change(beside(*map(_host, both)))
    if not all(len(each["step_times"]) for each in both):
        host = host[:0]
    # On a CPU, which launches nothing, steps have no parts.
    recorded = parts.loc[parts["part"] == PARTS["recorded_ms"], "a_ms"].dropna()
    step_ms = float(recorded.sum()) if len(recorded) or time is None else time.a_ms
    return StepsCompared(
        time=time,
        parts=parts,
        findings=findings,
        host=host[host["change_ms"].abs() > LEAST * step_ms].reset_index(drop=True),
    )


def _time(both: Sequence[Tables], fewest: int) -> Change | None:
    """The change of the time from one step to the next, which the first step doesn't have."""
    steps = [each["step_times"] for each in both]
    if min(map(len, steps)) < fewest:
        return None
    times = [table.loc[table["step"] > 0, "time_ms"] for table in steps]
    ours, theirs = ((each.min(), each.median(), each.max()) for each in times)
    return apart(Time.STEP, ours, theirs, PLAIN_BEYOND)


def _parts(tables: Tables) -> pd.DataFrame:
    means = tables["diagnoses"][list(PARTS)].astype("float64").mean()
    return means.rename(PARTS).rename_axis("part").to_frame("ms")


def _findings_beside(both: Sequence[Tables]) -> pd.DataFrame:
    """What is a finding in one or both, with what it saves in each, if only as a smaller one."""
    found = beside(*map(_findings, both))
    told = found[["a_told", "b_told"]].eq(True).any(axis=1)
    diagnosed = all(each["diagnoses"]["understood"].notna().any() for each in both)
    found = by_change(found[told & diagnosed].assign(kind=_kinds))
    return found[["name", "path", "a_ms", "b_ms", "kind", "change_ms"]]


def _findings(tables: Tables) -> pd.DataFrame:
    """What a step saves without each, of the process where it is most; told: not as a smaller."""
    both = [tables[name].assign(told=name == "findings") for name in ("findings", "smaller")]
    found = pd.concat(both).fillna({"path": ""}).astype({"saves_ms": "float64"})
    return found.groupby(["name", "path"]).agg(ms=("saves_ms", "max"), told=("told", "any"))


def _host(tables: Tables) -> pd.DataFrame:
    """The gaps of the host and its waits, by what and where."""
    gaps = tables["gaps"].fillna({"after_path": "", "before_path": ""})
    waits = tables["waits"].fillna({"path": ""})
    between = [
        f"{before} \N{RIGHTWARDS ARROW} {after}" if before not in ("", after) else str(after)
        for before, after in zip(gaps["after_path"], gaps["before_path"], strict=True)
    ]
    rows = [
        pd.DataFrame({"what": "gap between calls", "path": between, "ms": gaps["gap_ms"]}),
        pd.DataFrame({"what": waits["call"], "path": waits["path"], "ms": waits["blocked_ms"]}),
    ]
    processes = max(int(tables["diagnoses"]["steps"].notna().sum()), 1)
    every = pd.concat(rows).astype({"ms": "float64"})
    return every.groupby(["what", "path"])[["ms"]].sum() / processes


def _kinds(findings: pd.DataFrame) -> "pd.Series[str]":
    """Whether a finding appeared, vanished, or saves something else, as far as that is known."""
    unknown = findings[["a_ms", "b_ms"]].isna().any(axis=1)
    kinds = np.select(
        [~findings["in_a"], ~findings["in_b"], unknown],
        [Kind.APPEARED, Kind.VANISHED, Kind.UNKNOWN],
        Kind.TIMED,
    )
    return pd.Series(kinds, index=findings.index, dtype=object)
