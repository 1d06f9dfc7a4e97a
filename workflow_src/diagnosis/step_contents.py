"""What a step does: the device's work by kind, and the host's time by what it calls.

Both of the steps that a step's time is the mean of. A part of a step is a range directly in it.
"""

import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.cost import counted_steps, first_counted
from workflow_src.diagnosis.finding import Subject
from workflow_src.diagnosis.parts import parts
from workflow_src.placing.kernel_names import precision_ran


def step_work(subject: Subject) -> pd.DataFrame:
    """A row per family, precision and part: example, calls, device_ms, share, most time first.

    All a step. example: the short name of the kernel that takes most of it; share: of the time of
    all activities.
    """
    work = subject.work[subject.work["call"] >= first_counted(subject.recording)]
    names = subject.attributed.names
    named = subject.attributed.work["named"].to_numpy()[work["activity"].to_numpy()]
    precisions = precision_ran(names["name"].astype(str), names["family"])
    rows = pd.DataFrame(
        {
            "family": names["family"].to_numpy()[named],
            "precision": precisions.to_numpy()[named],
            "path": parts(subject, work["path_text"]),
            "example": names["short_name"].to_numpy()[named],
            "device_ns": work["device_ns"].to_numpy(),
        }
    )
    keys = ["family", "precision", "path"]
    by_name = rows.groupby([*keys, "example"], as_index=False).agg(device_ns=("device_ns", "sum"))
    longest = by_name.sort_values("device_ns", ascending=False).drop_duplicates(keys)
    return _a_step(subject, rows, keys).merge(longest[[*keys, "example"]], on=keys)


def step_calls(subject: Subject) -> pd.DataFrame:
    """A row per kind of call and part: what, path, calls, host_ms, blocked_ms, share.

    All a step, most time first. what: the family of what is launched, or the call's name; host_ms:
    of the host before and in these calls, but for what held it up, which is blocked_ms; share: of
    both in all calls.
    """
    calls = subject.own[subject.own.index >= first_counted(subject.recording)]
    rows = pd.DataFrame(
        {
            "what": calls["family"].where(calls["launches"], calls["name"]),
            "launches": calls["launches"],
            "path": parts(subject, calls["path_text"]),
            "host_ns": calls["gap_ns"] + calls["cost_ns"],
            "blocked_ns": calls["blocked_ns"],
        }
    )
    return _a_step(subject, rows, ["what", "launches", "path"])


def _a_step(subject: Subject, rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Rows with times (ns) by keys: calls and each time (ms), both a step, and share."""
    times = [str(name) for name in rows if str(name).endswith("_ns")]
    groups, steps = rows.groupby(keys, as_index=False), counted_steps(subject.recording)
    table = groups[times].sum()
    total = table[times].sum(axis=1)
    table = table.assign(calls=groups.size()["size"] / steps, share=total / max(total.sum(), 1))
    for name in times:
        table[name.replace("_ns", "_ms")] = table[name] / NS_PER_MS / steps
    return table.sort_values("share", ascending=False, ignore_index=True)
