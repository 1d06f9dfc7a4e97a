"""What can be wrong with a step, and each place where it is: what it takes, and what shows it.

A kind of finding is a function that selects rows of a Subject's calls or work, and says by which
edits a step does without them, by one or more keys of mechanisms.csv. A place takes what its edits
take away of the steps that a step's time is the mean of, so that a replay saves no more.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.intervals import Indices
from workflow_src.common.printable import printable
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Edit, Edits, Mask, Plan, Recording
from workflow_src.diagnosis.replay import changed
from workflow_src.diagnosis.subject import END, NUMBER, Subject, main_place
from workflow_src.placing.kernel_names import short_names
from workflow_src.placing.paths import common_path

_WORDS = csv_rows(Path(__file__).with_name("mechanisms.csv"))
MECHANISMS = {row["key"]: SimpleNamespace(**row) for row in _WORDS}
"""fact: a format of a Finding's fields and of `told`; assumes: what the step without it is replayed
with, a format of kept_ms; shown_by: the family of its example's kernel, "" for any; general:
whether it is true of whole programs, and ranked last, or ""."""


@dataclass(frozen=True, eq=False)
class Finding:
    """One place of a mechanism, or several that have one cause.

    host_ms, device_ms: what it takes of a step; told: its columns of the table of findings, and
    what words say of it besides; saves_ms: what a step saves without it, and with all above; nan if
    the step isn't understood.
    """

    key: str
    where: str
    host_ms: float
    device_ms: float
    edits: Edits
    told: Mapping[str, Any]
    saves_ms: float = nan
    saves_with_above_ms: float = nan

    @property
    def takes_ms(self) -> float:
        """What it takes of host and device together."""
        return self.host_ms + self.device_ms

    @property
    def general(self) -> bool:
        """As of its mechanism."""
        return bool(MECHANISMS[self.key].general)


def found(
    subject: Subject,
    key: str,
    rows: pd.DataFrame,
    *edits: Edit,
    where: str | None = None,
    device_ns: "pd.Series[int] | None" = None,
    **facts: Any,
) -> Finding:
    """Some calls, activities or transfers as one place of a mechanism, which its edits do without.

    where: the range that all calls lie in, or the main place of activities, unless given; device_ns
    (by rows of work): what it takes of the device, unless all that the changed work does; facts:
    what only this mechanism's words say.
    """
    if where is None:
        named = rows if device_ns is None else rows.assign(device_ns=device_ns)
        where = main_place(named) if "lane" in rows else common_path(rows["path"])
    recording, every = subject.recording, subject.work
    changed_calls, changed_work, saved_ns, of_gaps = _changes(recording, edits)
    calls, work = np.flatnonzero(changed_calls), every[changed_work[every.index]]
    counted = np.arange(len(changed_calls)) >= recording.first_counted
    device_ns = work["device_ns"] if device_ns is None else device_ns
    work_ns = float(device_ns[counted[every.loc[device_ns.index, "call"]]].sum())
    # Where the device lags, the host's time between the ends of two steps isn't a step's.
    host_ns = float(saved_ns[counted].sum()) / recording.counted
    host_ns = min(host_ns, subject.check.recorded_ns)
    # What is between two steps belongs to the later one.
    last = recording.steps["last_call"].to_numpy()
    often, occurs = (
        np.bincount(np.searchsorted(last, each), minlength=len(last))[: len(last)]
        for each in (rows.get("call", rows.index), calls)
    )
    at = np.flatnonzero(occurs) if occurs.any() else np.arange(len(last))
    timed = at[last[at] >= recording.first_counted]
    told: dict[str, Any] = {
        "calls": max(round(float(np.median(often[timed if len(timed) else at]))), 1),
        "in_steps": len(at),
        "of_steps": len(last),
        "also_in": _elsewhere(subject, where, every[every["call"].isin(calls)]),
        "example": "" if of_gaps else _example(subject, MECHANISMS[key].shown_by, work, calls),
    }
    told |= _gaps(subject, edits) if of_gaps else {}
    device_ms = work_ns / NS_PER_MS / recording.counted
    return Finding(key, where, host_ns / NS_PER_MS, device_ms, edits, told | facts)


def _changes(recording: Recording, edits: Edits) -> tuple[Mask, Mask, Indices, bool]:
    """Which calls and work edits change in a replay, the host's time (ns) that they take away at
    each call, and whether they shorten only gaps, before these calls, instead of calls and work."""
    before, after, columns = Plan.of(recording), changed(recording, edits), recording.columns
    work = after.dropped | (after.duration_ns != before.duration_ns)
    returns = np.unique(columns["waits.call"][~after.waits])
    calls, of_work = after.cost_ns != before.cost_ns, columns["work.call"][work]
    calls[returns] = calls[of_work[of_work >= 0]] = True
    gaps_ns = before.gap_ns - after.gap_ns
    host_ns = np.maximum(gaps_ns + before.cost_ns - after.cost_ns, 0)
    blocked = columns["calls.end_ns"] - columns["calls.start_ns"] - before.cost_ns
    host_ns[returns] += np.maximum(blocked[returns], 0)
    host_ns = np.where(columns["calls.beside"], 0, host_ns)
    of_gaps = bool((gaps_ns > 0).any()) and not calls.any() and not work.any()
    return gaps_ns > 0 if of_gaps else calls, work, host_ns, of_gaps


def _elsewhere(subject: Subject, where: str, work: pd.DataFrame) -> str:
    """The part of a step with most of the work of changed calls, if `where` isn't of it; or ""."""
    if not where or work.empty:
        return ""
    most = str(work["device_ns"].groupby(subject.parts(work["path"])).sum().idxmax())
    outer, inner = sorted((re.sub(NUMBER, "*", name) for name in (most, where)), key=len)
    return "" if f"{inner}/".startswith(f"{outer}/") else most


def _example(subject: Subject, family: str, work: pd.DataFrame, changed: Indices) -> str:
    """The kernel, if possible of a family, copy or waiting call that changes most, or ""."""
    if work.empty:
        calls = subject.calls[subject.calls.index.isin(changed) & ~subject.calls["launches"]]
        held = calls.groupby("name", observed=True)["blocked_ns"].sum()
        return short(str(held.idxmax())) if len(held) else ""
    of_family = work[work["family"] == family]
    longest = of_family if len(of_family) else work
    return short(str(longest.groupby("name", observed=True)["device_ns"].sum().idxmax()))


def _gaps(subject: Subject, edits: Edits) -> dict[str, Any]:
    """Where gaps lie that edits shorten, and what is left of each.

    between, ranges: which calls and ranges, if one pair; next_step: whether all calls after are of
    the next step; kept_ms: on average.
    """
    sides, step = subject.sides, subject.own["step"]
    every = sides.loc[np.concatenate([each.calls for each in edits])]
    inside = every[(every["launched_before"] != "") & (every["launched"] != END)]
    inside = inside if len(inside) else every
    pairs = inside.drop_duplicates()
    kept = [np.broadcast_to(e.gap, e.calls.shape) for e in edits if e.gap is not None]
    later = step != step.shift(fill_value=step.iloc[0])
    told = {
        "kept_ms": float(np.concatenate(kept).mean()) / NS_PER_MS,
        "next_step": bool(later.loc[inside.index].all()),
    }
    if len(pairs) > 1:
        return told
    after, *paths, before = pairs.iloc[0, [0, 1, 3, 2]].astype(str)
    paths = [*map(quotable, paths)]
    ends = zip((after, before), paths, strict=True)
    calls = [f"{short(call) or 'the start'}{' in ' * bool(path)}{path}" for call, path in ends]
    names = [f"`{path}`" if path else "no range" for path in paths]
    ranges = f"between {' and '.join(names)}" if paths[0] != paths[1] else ""
    return told | {"between": " and ".join(calls), "ranges": ranges}


def short(name: str) -> str:
    """A kernel's name as the table of kernels shows it; "" stays."""
    return quotable(str(short_names(pd.Series([name])).iloc[0])) if name else ""


def quotable(path: str) -> str:
    """A path without backticks and lines."""
    return printable(" ".join(path.split())).replace("`", "'")
