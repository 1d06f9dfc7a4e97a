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
    names_of = rows.groupby([*keys, "example"], as_index=False)
    by_name = names_of.agg(device_ns=("device_ns", "sum"))
    longest = by_name.sort_values("device_ns", ascending=False).drop_duplicates(keys)
    groups = rows.groupby(keys, as_index=False)
    table = groups.agg(calls=("device_ns", "size"), device_ns=("device_ns", "sum"))
    table = table.merge(longest[[*keys, "example"]], on=keys)
    steps = counted_steps(subject.recording)
    table["calls"] /= steps
    table["device_ms"] = table["device_ns"] / NS_PER_MS / steps
    table["share"] = table["device_ns"] / max(rows["device_ns"].sum(), 1)
    return table.sort_values("device_ns", ascending=False, ignore_index=True)


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
    groups = rows.groupby(["what", "launches", "path"], as_index=False)
    table = groups.agg(calls=("what", "size"), host=("host_ns", "sum"), held=("blocked_ns", "sum"))
    steps, total = counted_steps(subject.recording), rows[["host_ns", "blocked_ns"]].sum().sum()
    table["calls"] /= steps
    table["share"] = (table["host"] + table["held"]) / max(total, 1)
    for name, sums in (("host_ms", "host"), ("blocked_ms", "held")):
        table[name] = table[sums] / NS_PER_MS / steps
    return table.sort_values("share", ascending=False, ignore_index=True)
