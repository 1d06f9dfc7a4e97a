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
from workflow_src.diagnosis.edit import NONE, Edits, Mask, Plan
from workflow_src.diagnosis.finding import END, MECHANISMS, NUMBER, Between, Finding, Subject
from workflow_src.diagnosis.host_gaps import neighbors
from workflow_src.diagnosis.parts import parts
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.replay import changed


def first_counted(recording: Recording) -> int:
    """The first call of the steps whose mean is a step's time: not the first of several."""
    steps = recording.steps
    return int(steps["last_call"].iloc[0]) + 1 if len(steps) > 1 else int(steps["call"].iloc[0])


def counted_steps(recording: Recording) -> int:
    """How many steps these are."""
    return max(len(recording.steps) - 1, 1)


def with_cost(subject: Subject, found: Finding) -> Finding:
    """A place with all that is told of it but its savings.

    The times are the mechanism's own, which it gives over all steps; and no less than what the
    edits take away; of the host no more than a step. Of what is in the first step alone they are
    those of that step.
    """
    recording, steps = subject.recording, counted_steps(subject.recording)
    host_ns, device_ns = _removed(recording, found.edits)
    calls, work = _touched(recording, found.edits)
    counted = np.arange(len(calls)) >= first_counted(recording)
    launched = recording.columns["work.call"]
    of_work = (launched >= 0) & np.append(counted, False)[launched]
    times = len(recording.steps) / steps
    often = _share(calls, counted, 1 / times)
    lasted = recording.columns["work.end_ns"] - recording.columns["work.start_ns"]
    long = _share(lasted * work, of_work, often)
    host_ms = found.host_ms * times * _share(host_ns, counted, often)
    device_ms = found.device_ms * times * _share(device_ns, of_work, long)
    host_ms = max(host_ms, float(host_ns[counted].sum()) / NS_PER_MS / steps)
    device_ms = max(device_ms, float(device_ns[of_work].sum()) / NS_PER_MS / steps)
    # Where the device lags, the host's time between the ends of two steps isn't a step's.
    host_ms = min(host_ms, subject.check.recorded_ns / NS_PER_MS)
    placed = _in_steps(subject, found, calls, work)
    if placed.first_only:
        host_ms, device_ms = (ms * placed.of_steps for ms in (found.host_ms, found.device_ms))
    return replace(
        placed,
        host_ms=host_ms,
        device_ms=device_ms,
        also=_elsewhere(subject, found.where, work),
        example=_example(subject, found),
        between=_between(subject, found.edits),
    )


def _removed(recording: Recording, edits: Edits) -> tuple[Indices, Indices]:
    """What edits take away (ns) of the host at each call, and of each activity."""
    before, after, columns = Plan.of(recording), changed(recording, edits), recording.columns
    host = np.maximum(before.gap_ns - after.gap_ns + before.cost_ns - after.cost_ns, 0)
    blocked = columns["calls.end_ns"] - columns["calls.start_ns"] - before.cost_ns
    returns = np.unique(columns["waits.call"][~after.waits])
    host[returns] += np.maximum(blocked[returns], 0)
    device = before.duration_ns - np.where(after.dropped, 0, after.duration_ns)
    return np.where(columns["calls.beside"], 0, host), np.maximum(device, 0)


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


def _share(amounts: Indices | Mask, counted: Mask, otherwise: float) -> float:
    """The share of some amounts that counts."""
    total = float(amounts.sum())
    return float(amounts[counted].sum()) / total if total > 0 else otherwise


def _in_steps(subject: Subject, found: Finding, calls: Mask, work: Mask) -> Finding:
    """A place with the steps it occurs in, how often in such a one (the median), and its bytes.

    What is between two steps belongs to the later one.
    """
    last, count = subject.recording.steps["last_call"].to_numpy(), subject.step_count
    step = np.searchsorted(last, np.flatnonzero(calls))
    touched = np.bincount(step, minlength=count)[:count]
    occurs = np.flatnonzero(touched)
    if not len(occurs):
        return replace(found, in_steps=count, of_steps=count)
    often = found.calls * count * float(np.median(touched[occurs])) / touched.sum()
    copied = subject.copies["bytes"].reindex(np.flatnonzero(work))
    return replace(
        found,
        calls=max(round(often), 1),
        in_steps=len(occurs),
        of_steps=count,
        first_only=count > 1 and occurs.tolist() == [0],
        copied_bytes=0.0 if copied.isna().any() else float(copied.sum()) / len(occurs),
    )


def _elsewhere(subject: Subject, where: str, touched: Mask) -> str:
    """The part of a step that has most of the touched work's time, if `where` isn't of it."""
    work = subject.work[touched[subject.work.index]]
    if not where or work.empty:
        return ""
    part = pd.Series(parts(subject, work["path_text"]), index=work.index)
    most = str(work["device_ns"].groupby(part).sum().idxmax())
    outer, inner = sorted((re.sub(NUMBER, "*", name) for name in (most, where)), key=len)
    return "" if f"{inner}/".startswith(f"{outer}/") else most


def _example(subject: Subject, found: Finding) -> str:
    """The kernel, copy or call that takes most of what a place's edits touch; "" if none does.

    Of a mechanism that one family shows, the kernel is of that. Calls before which only the host's
    time goes, and launches that others take over, show nothing.
    """
    shown = [e for e in found.edits if e.drops or (e.cost is not None and e.gap is None)]
    work = np.concatenate([NONE, *(each.work for each in found.edits)])
    calls = np.concatenate([NONE, *(each.calls for each in shown)])
    touched = subject.work[subject.work.index.isin(work) | subject.work["call"].isin(calls)]
    of_family = touched[touched["family"] == MECHANISMS[found.key].shown_by]
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
