"""What the difference between the steps of two captures is made of: findings, device and host.

Times are ms per step, means over the processes that have steps; largest change first. What one
capture doesn't tell is compared in neither.
"""

import pandas as pd

from workflow_src.compare.change import Work, beside, by_change, chosen
from workflow_src.paper.number import lift, of, over
from workflow_src.paper.run import Run

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


def step_times(run: Run, fewest: int) -> pd.DataFrame:
    """The times from one step to the next, which the first doesn't have; none of too few."""
    rows = run["capture/step_times"]
    return rows[(rows["step"] > 0) & (len(rows) >= fewest)]


def parts(a: Run, b: Run) -> pd.DataFrame:
    """Those of PARTS that are known."""
    both = by_change(beside(_parts(a), _parts(b))).dropna(subset=["a_ms", "b_ms"], how="all")
    return both.reset_index()


def _parts(run: Run) -> pd.DataFrame:
    means = [of(lift(run["capture/diagnoses"][name]), "mean") for name in PARTS]
    return pd.DataFrame({"ms": means}, pd.Index(PARTS.values(), name="part"), dtype=object)


def findings(a: Run, b: Run) -> pd.DataFrame:
    """What is a finding in one or both, by name and path, with what a step saves without it in
    each, if only as a smaller one, and how that changed."""
    both = beside(_findings(a), _findings(b))
    told = both[["a_told", "b_told"]].eq(True).any(axis=1)
    diagnosed = all(run["capture/diagnoses"]["steps"].notna().any() for run in (a, b))
    both = both[told & diagnosed]
    unknown = both[["a_ms", "b_ms"]].isna().any(axis=1)
    rules = {Work.APPEARED: ~both["in_a"], Work.VANISHED: ~both["in_b"], Work.UNKNOWN: unknown}
    found = by_change(both.assign(kind=chosen(rules, Work.TIMED)))
    return found.reset_index()[["name", "path", "a_ms", "b_ms", "kind", "change_ms"]]


def _findings(run: Run) -> pd.DataFrame:
    """What a step saves without each, of the process where it is most; told: not as a smaller."""
    names = ("findings", "smaller")
    every = pd.concat([run[f"capture/{name}"].assign(told=name == names[0]) for name in names])
    by = ["name", "path"]
    told = every.groupby(by)["told"].any().to_frame()
    return told.assign(ms=over(every, by, "saves_ms", "max").reindex(told.index))


def host(a: Run, b: Run, step_ms: float) -> pd.DataFrame:
    """The host's time and waits, by what it calls and where, that changed by LEAST of a step."""
    known = all(len(run["capture/step_times"]) for run in (a, b))
    found = by_change(beside(_host(a), _host(b)).reset_index())
    return found[known & (found["change_ms"].astype(float).abs() > LEAST * step_ms)]


def _host(run: Run) -> pd.DataFrame:
    rows = run["capture/step_calls"]
    rows = rows.assign(ms=rows["host_ms"] + rows["blocked_ms"])
    processes = max(int(run["capture/diagnoses"]["steps"].notna().sum()), 1)
    found = over(rows, ["what", "path"], "ms", unit="ms")
    return (found / processes if processes > 1 else found).to_frame("ms")
