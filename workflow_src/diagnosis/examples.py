"""What shows a finding: a kernel, copy or call, or the calls that gaps of the host lie between."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN_TEXT
from workflow_src.diagnosis.edit import NONE
from workflow_src.diagnosis.finding import END, MECHANISMS, Between, Found, Subject
from workflow_src.diagnosis.host_gaps import neighbors


def example_of(subject: Subject, place: Found) -> str:
    """The kernel, copy or call that takes most of what a place's edits touch; "" if none does.

    Of a mechanism that one family shows, the kernel is of that. Calls before which only the host's
    time goes, and launches that others take over, show nothing.
    """
    shown = [e for e in place.edits if e.drops or (e.cost is not None and e.gap is None)]
    work = np.concatenate([NONE, *(each.work for each in place.edits)])
    calls = np.concatenate([NONE, *(each.calls for each in shown)])
    touched = subject.work[subject.work.index.isin(work) | subject.work["call"].isin(calls)]
    of_family = touched[touched["family"] == MECHANISMS[place.key].shown_by]
    if len(touched):
        return _longest(subject, of_family if len(of_family) else touched)
    named = subject.calls[subject.calls.index.isin(calls)]
    names = named.groupby("name", observed=True)["blocked_ns"].sum()
    return str(names.idxmax()) if len(named) else ""


def _longest(subject: Subject, work: pd.DataFrame) -> str:
    """The name of the activity that takes most of some work; of a copy, its memories."""
    name = work.groupby("name", observed=True)["device_ns"].sum().idxmax()
    row = work.loc[work["name"] == name, "device_ns"].idxmax()
    copied = subject.copies[subject.copies.index == row]
    ends = copied[["source", "target"]].astype(str).to_numpy().ravel().tolist()
    known = ends and UNKNOWN_TEXT not in ends
    return "copy from {} to {} memory".format(*ends) if known else str(name)


def between_of(subject: Subject, place: Found) -> Between | None:
    """Between which calls the gaps of a place lie that changes nothing else; else None.

    What comes before the first call of all, and after the last one, isn't known.
    """
    if not place.edits or not all(each.of_gaps for each in place.edits):
        return None
    sides, step = neighbors(subject), subject.own["step"]
    every = sides.loc[np.concatenate([each.calls for each in place.edits])]
    inside = every[(every["launched_before"] != "") & (every["launched"] != END)]
    inside = inside if len(inside) else every
    pairs = inside.drop_duplicates()
    later = bool((step != step.shift(fill_value=step.iloc[0])).loc[inside.index].all())
    found = Between(1, *pairs.iloc[0].astype(str)) if len(pairs) == 1 else Between(len(pairs))
    return replace(found, next_step=later)
