"""What shows a finding: a kernel, copy or call, or the calls that gaps of the host lie between."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN_TEXT
from workflow_src.diagnosis.changes import (
    DropCall,
    DropGap,
    DropSynchronization,
    MakeAsynchronous,
    MergeLaunches,
    ScaleWork,
)
from workflow_src.diagnosis.finding import END, MECHANISMS, Between, Found, Subject
from workflow_src.diagnosis.host_gaps import neighbors


def example_of(subject: Subject, key: str, place: Found) -> str:
    """The kernel, copy or call that takes most of what a place's changes touch; "" if none does.

    Of a mechanism that one family shows, the kernel is of that.
    """
    work = [change.work for change in place.changes if isinstance(change, ScaleWork)]
    calls = [
        change.calls
        for change in place.changes
        if isinstance(change, DropSynchronization | MakeAsynchronous | DropCall | MergeLaunches)
    ]
    if not work and not calls:
        return ""
    is_touched = subject.work.index.isin(np.concatenate([*work, np.empty(0)]))
    is_touched |= subject.work["call"].isin(np.concatenate([*calls, np.empty(0)])).to_numpy()
    touched = subject.work[is_touched]
    of_family = touched[touched["family"] == MECHANISMS[key].shown_by]
    if len(touched):
        return _longest(subject, of_family if len(of_family) else touched)
    named = subject.calls[subject.calls.index.isin(np.concatenate(calls))]
    return (
        str(named.groupby("name", observed=True)["blocked_ns"].sum().idxmax()) if len(named) else ""
    )


def _longest(subject: Subject, work: pd.DataFrame) -> str:
    """The name of the activity that takes most of some work; of a copy, its memories."""
    name = work.groupby("name", observed=True)["device_ns"].sum().idxmax()
    row = work.loc[work["name"] == name, "device_ns"].idxmax()
    copied = subject.copies[subject.copies.index == row]
    if copied.empty:
        return str(name)
    source, target = (str(copied[side].iloc[0]) for side in ("source", "target"))
    known = UNKNOWN_TEXT not in (source, target)
    return f"copy from {source} to {target} memory" if known else str(name)


def between_of(subject: Subject, place: Found) -> Between | None:
    """Between which calls the gaps of a place lie that changes nothing else; else None.

    What comes before the first call of all, and after the last one, isn't known.
    """
    gaps = [change.calls for change in place.changes if isinstance(change, DropGap)]
    if not gaps or len(gaps) < len(place.changes):
        return None
    every = neighbors(subject).loc[np.concatenate(gaps)]
    inside = every[(every["launched_before"] != "") & (every["launched"] != END)]
    inside = inside if len(inside) else every
    pairs, step = inside.drop_duplicates(), subject.own["step"]
    later = bool((step != step.shift(fill_value=step.iloc[0])).loc[inside.index].all())
    found = Between(1, *pairs.iloc[0].astype(str)) if len(pairs) == 1 else Between(len(pairs))
    return replace(found, next_step=later)
