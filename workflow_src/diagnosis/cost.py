"""What a finding takes of a step, of the same steps that the time of a step is the mean of.

And what shows it: the kernel, copy or call that takes most, or the calls that gaps lie between. A
replay shortens a step by no more than what it takes, as it takes away nothing else.
"""

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN_TEXT
from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import NONE, Edit, Edits, Mask, Plan
from workflow_src.diagnosis.finding import (
    END,
    MECHANISMS,
    NUMBER,
    Between,
    Finding,
    Subject,
    common_path,
    main_place,
)
from workflow_src.diagnosis.host_gaps import neighbors
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.replay import changed

BETWEEN_NAMES = re.compile(r"(?<!\\)/")
"""What separates the names in a path; a slash in a name is escaped."""


def first_counted(recording: Recording) -> int:
    """The first call of the steps whose mean is a step's time: not the first of several."""
    steps = recording.steps
    return int(steps["last_call"].iloc[0]) + 1 if len(steps) > 1 else int(steps["call"].iloc[0])


def counted_steps(recording: Recording) -> int:
    """How many steps these are."""
    return max(len(recording.steps) - 1, 1)


def parts(subject: Subject, paths: pd.Series) -> "np.typing.NDArray[np.object_]":
    """The part of a step that each path lies in: of a step's range, at most one name more."""
    paths_of = subject.attributed.paths
    of_steps = paths_of.of_range[subject.attributed.steps.is_step]
    named = np.unique(paths_of.text[of_steps].astype(str)).tolist()
    most = 1 + max((len(BETWEEN_NAMES.split(text)) for text in named), default=1)
    known = {path: BETWEEN_NAMES.split(path, most) for path in paths.unique()}
    of_path = {path: "/".join(names[:most]) for path, names in known.items()}
    return paths.map(of_path).to_numpy(dtype=object)


def found(
    subject: Subject,
    key: str,
    rows: pd.DataFrame,
    *edits: Edit,
    where: str | None = None,
    device_ns: "pd.Series[int] | None" = None,
) -> Finding:
    """Some calls, activities or transfers as one place of a mechanism, which its edits do without.

    where: the range that all calls lie in, or the main place of activities, unless it is given. It
    takes what edits take away of the host, at most a step, and of the device all that the touched
    work takes, or device_ns of it (by its rows). Of what is in the first step alone this is of that
    step.
    """
    if where is None:
        named = rows if device_ns is None else rows.assign(device_ns=device_ns)
        where = main_place(named) if "lane" in rows else common_path(rows["path_text"])
    recording, count = subject.recording, subject.step_count
    calls, work = _touched(recording, edits)
    # What is between two steps belongs to the later one.
    last = recording.steps["last_call"].to_numpy()
    often, occurs = (
        np.bincount(np.searchsorted(last, each), minlength=count)[:count]
        for each in (rows.get("call", rows.index), np.flatnonzero(calls))
    )
    at = np.flatnonzero(occurs) if occurs.any() else np.arange(count)
    first_only = count > 1 and at.tolist() == [0]
    host_ms, device_ms = _takes(subject, edits, device_ns, first_only)
    copied = subject.copies["bytes"].reindex(np.flatnonzero(work))
    return Finding(
        key,
        where,
        calls=max(round(float(np.median(often[at]))), 1),
        host_ms=host_ms,
        device_ms=device_ms,
        edits=edits,
        in_steps=len(at),
        of_steps=count,
        first_only=first_only,
        copied_bytes=0.0 if copied.isna().any() else float(copied.sum()) / len(at),
        also=_elsewhere(subject, where, work),
        example=_example(subject, MECHANISMS[key].shown_by, edits),
        between=_between(subject, edits),
    )


def _takes(
    subject: Subject, edits: Edits, device_ns: "pd.Series[int] | None", first_only: bool
) -> tuple[float, float]:
    """What `found` says that a place takes of the host and of the device (ms a step)."""
    counted = np.arange(len(subject.recording.calls)) >= first_counted(subject.recording)
    steps = counted_steps(subject.recording)
    if first_only:
        counted, steps = ~counted, 1
    if device_ns is None:
        gone = np.concatenate([NONE, *(each.calls for each in edits if each.drops)])
        taken = np.concatenate([NONE, *(each.work for each in edits)])
        is_taken = subject.work.index.isin(taken) | subject.work["call"].isin(gone)
        device_ns = subject.work.loc[is_taken, "device_ns"]
    of_counted = counted[subject.work.loc[device_ns.index, "call"]]
    host_ms, device_ms = (
        float(each.sum()) / NS_PER_MS / steps
        for each in (_host_ns(subject.recording, edits)[counted], device_ns[of_counted])
    )
    # Where the device lags, the host's time between the ends of two steps isn't a step's.
    return min(host_ms, subject.check.recorded_ns / NS_PER_MS), device_ms


def _host_ns(recording: Recording, edits: Edits) -> Indices:
    """What edits take away (ns) of the host at each call."""
    before, after, columns = Plan.of(recording), changed(recording, edits), recording.columns
    host = np.maximum(before.gap_ns - after.gap_ns + before.cost_ns - after.cost_ns, 0)
    blocked = columns["calls.end_ns"] - columns["calls.start_ns"] - before.cost_ns
    returns = np.unique(columns["waits.call"][~after.waits])
    host[returns] += np.maximum(blocked[returns], 0)
    return np.where(columns["calls.beside"], 0, host)


def _touched(recording: Recording, edits: Edits) -> tuple[Mask, Mask]:
    """Which calls and activities edits touch, themselves or a call by its work and the reverse.

    Gaps before calls count only of what takes nothing else away.
    """
    of_work = recording.columns["work.call"]
    touched = np.zeros(len(recording.calls) + 1, dtype=bool)
    for edit in [each for each in edits if not each.of_gaps] or edits:
        touched[edit.calls] = touched[of_work[edit.work]] = True
    touched[-1] = False
    return touched[:-1], touched[of_work]


def _elsewhere(subject: Subject, where: str, touched: Mask) -> str:
    """The part of a step that has most of the touched work's time, if `where` isn't of it."""
    work = subject.work[touched[subject.work.index]]
    if not where or work.empty:
        return ""
    part = pd.Series(parts(subject, work["path_text"]), index=work.index)
    most = str(work["device_ns"].groupby(part).sum().idxmax())
    outer, inner = sorted((re.sub(NUMBER, "*", name) for name in (most, where)), key=len)
    return "" if f"{inner}/".startswith(f"{outer}/") else most


def _example(subject: Subject, family: str, edits: Edits) -> str:
    """The kernel, copy or call that takes most of what a place's edits touch; "" if none does.

    Of a mechanism that one family shows, the kernel is of that. Calls before which only the host's
    time goes, and launches that others take over, show nothing.
    """
    shown = [e for e in edits if e.drops or (e.cost is not None and e.gap is None)]
    work = np.concatenate([NONE, *(each.work for each in edits)])
    calls = np.concatenate([NONE, *(each.calls for each in shown)])
    touched = subject.work[subject.work.index.isin(work) | subject.work["call"].isin(calls)]
    of_family = touched[touched["family"] == family]
    if touched.empty:
        named = subject.calls[subject.calls.index.isin(calls)]
        names = named.groupby("name", observed=True)["blocked_ns"].sum()
        return str(names.idxmax()) if len(named) else ""
    longest = of_family if len(of_family) else touched
    name = longest.groupby("name", observed=True)["device_ns"].sum().idxmax()
    row = longest.loc[longest["name"] == name, "device_ns"].idxmax()
    ends = subject.copies.loc[subject.copies.index == row, ["source", "target"]].astype(str)
    memories = ends.to_numpy().ravel().tolist()
    known = memories and UNKNOWN_TEXT not in memories
    return "copy from {} to {} memory".format(*memories) if known else str(name)


def _between(subject: Subject, edits: Edits) -> Between | None:
    """Between which calls the gaps lie that edits shorten, if they change nothing else.

    What comes before the first call of all, and after the last one, isn't known.
    """
    if not edits or not all(each.of_gaps for each in edits):
        return None
    sides, step = neighbors(subject), subject.own["step"]
    every = sides.loc[np.concatenate([each.calls for each in edits])]
    inside = every[(every["launched_before"] != "") & (every["launched"] != END)]
    inside = inside if len(inside) else every
    pairs = inside.drop_duplicates()
    later = bool((step != step.shift(fill_value=step.iloc[0])).loc[inside.index].all())
    found = Between(1, *pairs.iloc[0].astype(str)) if len(pairs) == 1 else Between(len(pairs))
    return replace(found, next_step=later)
