"""What a reader of a step asks first: who waited, what was copied, where the host was, what differs.

Tables of a recording: a row per place, largest first. `path` is the text of a range's path, "" where
none was open. All values are per step, of all calls and work from the first step to the last.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.step import Recording

Texts = npt.NDArray[np.object_]

LARGE = 20
"""A gap of the host is large if it is so many times as long as the median one."""

DIFFERS = 0.03
"""A step differs from the others if a path takes so much more or less of the median step's time."""


def waits(recording: Recording, paths: Texts) -> pd.DataFrame:
    """A row per call and path that the device held up: call, path, calls, blocked_ms."""
    calls = recording.calls
    blocked = _blocked_ns(recording)
    held = _placed(recording, paths).assign(blocked_ms=blocked / NS_PER_MS)[blocked > 0]
    groups = held.groupby(["name", "path"], observed=True, sort=False)["blocked_ms"]
    table = groups.agg(calls="size", blocked_ms="sum") / _steps(recording)
    table = table.reset_index().rename(columns={"name": "call"})
    return table.sort_values("blocked_ms", ascending=False, ignore_index=True)


def copies(recording: Recording, copied: pd.DataFrame, paths: Texts) -> pd.DataFrame:
    """A row per direction, memories and path: copies, bytes, device_ms, gb_per_s, blocked_ms.

    copied: Capture.copies. blocked_ms is how long the host waited in the calls that copied.
    """
    work = recording.work
    ours = work[["activity", "call", "path"]].assign(
        device_ms=(work["end_ns"] - work["start_ns"]) / NS_PER_MS,
        path=np.append(paths, "")[work["path"]],
        blocked_ms=np.append(_blocked_ns(recording), 0)[work["call"]] / NS_PER_MS,
    )
    known = copied.merge(ours, left_on="work", right_on="activity")
    places = ["direction", "source", "target", "path"]
    groups = known.groupby(places, observed=True, sort=False, dropna=False)
    sums = groups[["bytes", "device_ms", "blocked_ms"]].sum()
    table = sums.assign(copies=groups.size()) / _steps(recording)
    table["gb_per_s"] = table["bytes"] / table["device_ms"].where(table["device_ms"] > 0) / 1e6
    columns = [*places, "copies", "bytes", "device_ms", "gb_per_s", "blocked_ms"]
    return table.reset_index()[columns].sort_values("device_ms", ascending=False, ignore_index=True)


def host_gaps(recording: Recording, paths: Texts) -> pd.DataFrame:
    """A row per place of large gaps: after_call, after_path, before_call, before_path, gaps, gap_ms.

    longest_ms: the longest of them.
    """
    calls = _placed(recording, paths)[~recording.calls["beside"]]
    before = calls[["name", "path"]].shift(fill_value="")
    table = pd.DataFrame(
        {
            "after_call": before["name"],
            "after_path": before["path"],
            "before_call": calls["name"],
            "before_path": calls["path"],
            "gap_ms": calls["gap_ns"] / NS_PER_MS,
        }
    )
    large = table[table["gap_ms"] > LARGE * table["gap_ms"].median()]
    groups = large.groupby(list(table.columns[:4]), observed=True, sort=False)["gap_ms"]
    found = groups.agg(gaps="size", gap_ms="sum") / _steps(recording)
    found = found.assign(longest_ms=groups.max()).reset_index()
    return found.sort_values("gap_ms", ascending=False, ignore_index=True)


def differing_steps(recording: Recording, paths: Texts) -> pd.DataFrame:
    """A row per step and path that takes more or less than in the median step.

    step (from 0), path, what (host: the host's own time and its calls; blocked; device), ms and
    median_ms. Work and calls between steps belong to none.
    """
    calls, work = _placed(recording, paths), recording.work
    blocked = pd.Series(_blocked_ns(recording), index=calls.index)
    device = work.assign(path=np.append(paths, "")[work["path"]], ns=work["end_ns"] - work["start_ns"])
    host = calls["end_ns"] - calls["start_ns"] + calls["gap_ns"] - blocked
    parts = {
        "host": calls.assign(ns=host)[~calls["beside"]],
        "blocked": calls.assign(ns=blocked),
        "device": device,
    }
    rows = [_deviations(part, what, recording) for what, part in parts.items()]
    found = pd.concat(rows, ignore_index=True)
    order = (found["ms"] - found["median_ms"]).abs().sort_values(ascending=False).index
    return found.loc[order].reset_index(drop=True)


def _deviations(part: pd.DataFrame, what: str, recording: Recording) -> pd.DataFrame:
    """Of rows with step, path and ns: those sums that differ from the median over all steps."""
    inside = part[part["step"] >= 0]
    sums = inside.pivot_table("ns", "step", "path", "sum", fill_value=0) / NS_PER_MS
    sums = sums.reindex(range(int(_steps(recording))), fill_value=0)
    table = sums.stack().rename("ms").reset_index().assign(what=what)
    table["median_ms"] = table["path"].map(sums.median())
    limit = DIFFERS * recording.steps["time_ns"].median() / NS_PER_MS
    differs = (table["ms"] - table["median_ms"]).abs() > limit
    return table.loc[differs, ["step", "path", "what", "ms", "median_ms"]]


def _placed(recording: Recording, paths: Texts) -> pd.DataFrame:
    """The calls with their paths as text."""
    calls = recording.calls
    return calls.assign(path=np.append(paths, "")[calls["path"]])


def _blocked_ns(recording: Recording) -> npt.NDArray[np.int64]:
    """How much longer (ns) each call took than if nothing had held it up."""
    calls = recording.calls
    return (calls["end_ns"] - calls["start_ns"] - calls["cost_ns"]).to_numpy()


def _steps(recording: Recording) -> float:
    return float(len(recording.steps))
