"""What shows a finding: a kernel, copy or call, or the calls that gaps of the host lie between."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN_TEXT
from workflow_src.diagnosis.edit import NONE, Edit
from workflow_src.diagnosis.finding import END, MECHANISMS, Between, Found, Subject
from workflow_src.diagnosis.host_gaps import neighbors


def example_of(subject: Subject, key: str, place: Found) -> str:
    """The kernel, copy or call that takes most of what a place's changes touch; "" if none does.

    Of a mechanism that one family shows, the kernel is of that.
    """
    work = np.concatenate([NONE, *(each.work for each in place.changes)])
    calls = np.concatenate([NONE, *(each.calls for each in place.changes if _shown(each))])
    touched = subject.work[subject.work.index.isin(work) | subject.work["call"].isin(calls)]
    of_family = touched[touched["family"] == MECHANISMS[key].shown_by]
    if len(touched):
        return _longest(subject, of_family if len(of_family) else touched)
    named = subject.calls[subject.calls.index.isin(calls)]
    return (
        str(named.groupby("name", observed=True)["blocked_ns"].sum().idxmax()) if len(named) else ""
    )


def _shown(edit: Edit) -> bool:
    """Whether an edit is of calls themselves: not of the host's time beside launches that stay."""
    return edit.drops or (edit.cost is not None and edit.gap is None)


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
    gaps = [each.calls for each in place.changes if each.of_gaps]
    if not gaps or len(gaps) < len(place.changes):
        return None
    every = neighbors(subject).loc[np.concatenate(gaps)]
    inside = every[(every["launched_before"] != "") & (every["launched"] != END)]
    inside = inside if len(inside) else every
    pairs, step = inside.drop_duplicates(), subject.own["step"]
    later = bool((step != step.shift(fill_value=step.iloc[0])).loc[inside.index].all())
    found = Between(1, *pairs.iloc[0].astype(str)) if len(pairs) == 1 else Between(len(pairs))
    return replace(found, next_step=later)
