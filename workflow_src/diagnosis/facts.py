"""What one asks of a step first: who waited, what was copied, where the host was, what differs.

Tables of a recording, a row per place, largest first. `path` is a range's path, "" where none was
open. All values are per step, of what was called from the first call of the first step to the last
one of the last step.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Recording

Texts = npt.NDArray[np.object_]

LARGE = 20
"""A gap of the host is large if it is so many times as long as the median one."""

DIFFERS = 0.03
"""A step differs from the others if a path takes so much more or less of the median step's time."""


def waits(recording: Recording, paths: Texts) -> pd.DataFrame:
    """A row per call and path that the device held up: call, path, calls, blocked_ms."""
    calls = _calls(recording, paths)
    groups = calls[calls["blocked_ns"] > 0].groupby(["name", "path"], sort=False)["blocked_ns"]
    table = groups.agg(["size", "sum"]).reset_index()
    table = pd.DataFrame(
        {
            "call": table["name"],
            "path": table["path"],
            "calls": table["size"] / len(recording.steps),
            "blocked_ms": table["sum"] / NS_PER_MS / len(recording.steps),
        }
    )
    return table.sort_values("blocked_ms", ascending=False, ignore_index=True)


def copies(recording: Recording, copied: pd.DataFrame, paths: Texts) -> pd.DataFrame:
    """A row per direction, memories and path: copies, bytes, device_ms, gb_per_s, blocked_ms.

    copied: Capture.copies. blocked_ms is how long the host waited in the calls that copied.
    """
    work, blocked = _work(recording, paths), _calls(recording, paths)["blocked_ns"]
    known = copied.merge(work, left_on="work", right_on="activity").assign(
        device_ms=lambda rows: rows["device_ns"] / NS_PER_MS,
        blocked_ms=lambda rows: rows["call"].map(blocked).fillna(0) / NS_PER_MS,
    )
    places = ["direction", "source", "target", "path"]
    groups = known.groupby(places, observed=True, sort=False, dropna=False)
    sums = groups[["bytes", "device_ms", "blocked_ms"]].sum()
    table = sums.assign(copies=groups.size()) / len(recording.steps)
    table["gb_per_s"] = table["bytes"] / table["device_ms"].where(table["device_ms"] > 0) / 1e6
    columns = [*places, "copies", "bytes", "device_ms", "gb_per_s", "blocked_ms"]
    return table.reset_index()[columns].sort_values("device_ms", ascending=False, ignore_index=True)


def host_gaps(recording: Recording, paths: Texts) -> pd.DataFrame:
    """A row per place of large gaps: after_call, after_path, before_call, before_path, gaps.

    gap_ms: all of them a step; longest_ms: the longest one.
    """
    calls = _calls(recording, paths)
    calls = calls[~calls["beside"]]
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
    return large_gaps(table, len(recording.steps))


def large_gaps(table: pd.DataFrame, steps: int) -> pd.DataFrame:
    """Of a row per gap, the large ones as in `host_gaps`: a row per place, per step."""
    large = table[table["gap_ms"] > LARGE * table["gap_ms"].median()]
    groups = large.groupby(list(table.columns[:4]), observed=True, sort=False)["gap_ms"]
    found = groups.agg(["size", "sum", "max"]).reset_index()
    found = found.rename(columns={"size": "gaps", "sum": "gap_ms", "max": "longest_ms"})
    found[["gaps", "gap_ms"]] /= steps
    return found.sort_values("gap_ms", ascending=False, ignore_index=True)


def differing_steps(recording: Recording, paths: Texts) -> pd.DataFrame:
    """A row per step and path that takes more or less than in the median step.

    step (from 0), path, what (host: the host's own time and its calls; blocked; device), ms and
    median_ms. Work and calls between steps belong to none.
    """
    calls, work = _calls(recording, paths), _work(recording, paths)
    parts = {
        "host": calls.assign(ns=calls["host_ns"])[~calls["beside"]],
        "blocked": calls.assign(ns=calls["blocked_ns"]),
        "device": work.assign(ns=work["device_ns"]),
    }
    rows = [_deviations(part, what, recording) for what, part in parts.items()]
    found = pd.concat(rows, ignore_index=True)
    order = (found["ms"] - found["median_ms"]).abs().sort_values(ascending=False).index
    return found.loc[order].reset_index(drop=True)


def _deviations(part: pd.DataFrame, what: str, recording: Recording) -> pd.DataFrame:
    """Of rows with step, path and ns: those sums that differ from the median over all steps."""
    inside = part[part["step"] >= 0]
    sums = inside.pivot_table("ns", "step", "path", "sum", fill_value=0) / NS_PER_MS
    sums = sums.reindex(range(len(recording.steps)), fill_value=0)
    ms = sums.to_numpy(dtype=np.float64)
    median = np.median(ms, axis=0)
    limit = DIFFERS * recording.steps["time_ns"].median() / NS_PER_MS
    # By path, then by step; with very many paths, pandas' melt takes a frame for each.
    path, step = np.nonzero((np.abs(ms - median) > limit).T)
    differing = {"step": step, "path": sums.columns[path], "what": what, "ms": ms[step, path]}
    return pd.DataFrame(differing | {"median_ms": median[path]})


def _calls(recording: Recording, paths: Texts) -> pd.DataFrame:
    """The calls of the steps: their paths as text, blocked_ns (held up), host_ns (all other)."""
    calls, steps = recording.calls, recording.steps
    calls = calls.loc[steps["call"].iloc[0] : steps["last_call"].iloc[-1]]
    blocked = calls["end_ns"] - calls["start_ns"] - calls["cost_ns"]
    path = np.append(paths, "")[calls["path"]]
    return calls.assign(path=path, blocked_ns=blocked, host_ns=calls["gap_ns"] + calls["cost_ns"])


def _work(recording: Recording, paths: Texts) -> pd.DataFrame:
    """The work that was launched by calls of the steps: its path as text, and device_ns."""
    work, steps = recording.work, recording.steps
    work = work[work["call"].between(steps["call"].iloc[0], steps["last_call"].iloc[-1])]
    path = np.append(paths, "")[work["path"]]
    return work.assign(path=path, device_ns=work["end_ns"] - work["start_ns"])
