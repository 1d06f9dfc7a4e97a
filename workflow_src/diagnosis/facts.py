"""What one asks of a step first: what it does, and how often it repeats that.

Tables of a subject (common/tables.csv), largest first. All values are per step: of all steps, but
step_work and step_calls of those that a step's time is the mean of.
"""

import numpy as np
import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.subject import MOST, Subject
from workflow_src.placing.kernel_names import precision_ran

SHORTEST, LONGEST, TIMES = 4, 4096, 3
"""Launches of a sequence that repeats, and how often in a row at least."""


def repeated(subject: Subject) -> tuple[int, int]:
    """Launches of the sequence that most of a step repeats, and how many times in a row; (0, 0)
    without one: of the loop's own thread, in the step of the median number of launches."""
    calls = subject.launching(True)
    counts = calls["step"].value_counts().sort_values()
    if counts.empty:
        return 0, 0
    step = counts.index[(len(counts) - 1) // 2]
    names, _ = pd.factorize(calls.loc[calls["step"] == step, "launched"])
    found, most = (0, 0), max(MOST * len(names), 1)
    for length in range(SHORTEST, min(LONGEST, len(names) // TIMES) + 1):
        other = np.flatnonzero(names[length:] != names[:-length])
        same = np.diff(np.concatenate([[-1], other, [len(names) - length]])).max() - 1
        if same + length > most and same // length + 1 >= TIMES:
            found, most = (length, same // length + 1), same + length
    return int(found[0]), int(found[1])


def step_work(subject: Subject) -> pd.DataFrame:
    """The rows of capture/step_work, most time first."""
    work = subject.work[subject.work["call"] >= subject.recording.first_counted]
    names = subject.attributed.names.rename(columns={"short_name": "example"})
    names["precision"] = precision_ran(names["name"].astype(str), names["family"])
    named = subject.attributed.work["named"].to_numpy()[work["activity"].to_numpy()]
    rows = names.iloc[named].set_index(work.index).drop(columns=["kind", "name"])
    rows = rows.assign(path=subject.parts(work["path"]), device_ns=work["device_ns"])
    keys = ["family", "precision", "path"]
    by_name = rows.groupby([*keys, "example"], as_index=False).agg(device_ns=("device_ns", "sum"))
    longest = by_name.sort_values("device_ns", ascending=False).drop_duplicates(keys)
    return _a_step(subject, rows, keys).merge(longest[[*keys, "example"]], on=keys)


def step_calls(subject: Subject) -> pd.DataFrame:
    """The rows of capture/step_calls; what: the family of what is launched, or the call's name."""
    calls = subject.own[subject.own.index >= subject.recording.first_counted]
    rows = calls[["launches", "blocked_ns"]].assign(
        what=calls["family"].where(calls["launches"], calls["name"]),
        path=subject.parts(calls["path"]),
        host_ns=calls["gap_ns"] + calls["cost_ns"],
    )
    return _a_step(subject, rows, ["what", "launches", "path"])


def _a_step(subject: Subject, rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    times = [str(name) for name in rows if str(name).endswith("_ns")]
    groups, steps = rows.groupby(keys, as_index=False), subject.recording.counted
    table = groups[times].sum()
    total = table[times].sum(axis=1)
    table = table.assign(calls=groups.size()["size"] / steps, share=total / max(total.sum(), 1))
    for name in times:
        table[name.replace("_ns", "_ms")] = table[name] / NS_PER_MS / steps
    return table.sort_values("share", ascending=False, ignore_index=True)
