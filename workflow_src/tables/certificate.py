"""Whether a capture can be trusted: what was lost, what doesn't fit, and what isn't known.

certificate.csv has a row per check, in the order of the table.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.captures.capture import IMPOSSIBLE, OVERHEAD, TWICE
from workflow_src.captures.capture import UNKNOWN as NO_LAUNCH
from workflow_src.captures.rows import spans
from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.intervals import Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.table_schema import own_columns
from workflow_src.common.thresholds import LOST_AT_MOST, OUTSIDE_LIMIT
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.families import UNKNOWN as UNKNOWN_FAMILY
from workflow_src.placing.steps import InSteps

KNOWN_AT_LEAST = 0.85
"""Below this share of known kind, shares by kind may miss what a step mostly does."""

UNREAD = ("bad ranges", "bad work", "bad calls", "bad events", "cut off", "unread tables",
          "unread events", TWICE, IMPOSSIBLE)  # fmt: skip

CHECKS = {row["key"]: row for row in csv_rows(Path(__file__).with_name("certificate.csv"))}

OK, DOUBT, UNKNOWN = "ok", "doubt", "unknown"

Line = tuple[str, str, str]
"""Value, unit and verdict of a check."""


def certificate(found: Attributed, in_steps: InSteps, launched: pd.DataFrame) -> pd.DataFrame:
    """A row per check.

    launched: a row per path and kernel, with activities_in_steps and busy_ns_in_steps.
    """
    lines = recorded(found) | _covered(found)
    # Of the device time in steps, that of kernels with a part of a call a step.
    process = pd.Series(found.paths.process[launched["path"].to_numpy()])
    counts = process.map(in_steps.steps).fillna(1).to_numpy()
    partly = (launched["activities_in_steps"].to_numpy() % counts) != 0
    busy = launched["busy_ns_in_steps"]
    lines["whole"] = _share(int(busy[partly].sum()), int(busy.sum()))
    # Of the time of steps, that in which the profiler recorded that it worked.
    calls, mine = found.capture.calls, found.placed.ranges[found.steps.is_step]
    own = calls[(calls["kind"] == OVERHEAD).to_numpy()]
    taken, whole = (Union.of(*spans(rows)) for rows in (own, mine))
    within = taken.until(whole.ends) - taken.until(whole.starts)
    lines["overhead"] = _share(int(within.sum()), whole.total())
    rows = [(each["check"], *lines[key], each["meaning"]) for key, each in CHECKS.items()]
    return pd.DataFrame(rows, columns=[*own_columns("capture/certificate")])


def doubts(found: Attributed) -> list[str]:
    """The checks of how a capture was recorded that come to a doubt."""
    lines = recorded(found).items()
    return [CHECKS[key]["check"] for key, (*_, verdict) in lines if verdict == DOUBT]


def _count(number: int) -> Line:
    return str(number), "count", DOUBT if number else OK


def _share(part: int, whole: int, least: float = 0, most: float = LOST_AT_MOST) -> Line:
    if not whole:
        return "", "", UNKNOWN
    return f"{part / whole:.6g}", "share", OK if least <= part / whole <= most else DOUBT


def recorded(found: Attributed) -> dict[str, Line]:
    """The checks of what was recorded and read, by key."""
    made, lost = found.capture.recording, found.work["launch_ns"] == NO_LAUNCH

    def noted(*codes: str) -> Line:
        return _count(sum(note.count for note in found.notes if note.code in codes))

    return {
        "unread": noted(*UNREAD),
        "overlapping": noted("overlapping"),
        "unanswered": _share(made.unanswered, made.launches),
        "unlaunched": _share(int(lost.sum()), len(lost)),
    }


def _covered(found: Attributed) -> dict[str, Line]:
    work, total = found.work, found.capture.total_ns
    placed = int(work.loc[work["path"] != NOWHERE, "duration_ns"].sum())
    known = int(work.loc[work["family"] != UNKNOWN_FAMILY, "duration_ns"].sum())
    without = set(found.capture.processes) - set(work["process"].unique().tolist())
    device_ns = 0 if found.capture.kernels_lost else total
    return {
        "ranges": _share(placed, device_ns, least=1 - OUTSIDE_LIMIT, most=np.inf),
        "known": _share(known, total, least=KNOWN_AT_LEAST, most=np.inf),
        "processes": _count(len(without)),
    }
