"""Whether a capture can be trusted: what was lost, what doesn't fit, and what isn't known.

A row per check, from what is read and placed of any capture, the suite's own or a stranger's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.captures.capture import IMPOSSIBLE, OVERHEAD, REUSED_NUMBERS, TWICE, early
from workflow_src.captures.recording import Recording
from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.intervals import Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.thresholds import LOST_AT_MOST, OUTSIDE_LIMIT
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.families import UNKNOWN
from workflow_src.placing.per_step import InSteps

KNOWN_AT_LEAST = 0.85
"""Below this share of known kind, shares by kind may miss what a step mostly does."""

TRIED = ("3",)
"""Major versions of nsys's tables that this reader was tried with, up to 3.27."""

UNREAD = ("bad ranges", "bad work", "bad calls", "bad events", "cut off", "unread tables",
          "unread events", "lost names")  # fmt: skip
"""Notes of what could not be read."""

COLUMNS = ("check", "value", "unit", "verdict", "meaning")


class Verdict(StrEnum):
    """What a check comes to."""

    OK = "ok"
    DOUBT = "doubt"
    UNKNOWN = "unknown"


class Check(StrEnum):
    """What is checked; the meaning of each is in MEANINGS."""

    DROPPED = "events that the profiler says it lost"
    TRACING = "how kernels were traced"
    SCHEMA = "version of the export's tables"
    UNREAD = "things that could not be read"
    TWICE = "events that stand twice"
    IMPOSSIBLE = "events at times that can't be"
    REUSED = "activities whose launch shares its number"
    UNANSWERED = "launches without an activity"
    UNLAUNCHED = "activities without a launch"
    EARLY = "activities that start before their launch"
    OVERLAPPING = "ranges that overlap on their thread"
    SPAN = "time of the file from the first to the last activity"
    RANGES = "device time in ranges"
    STEPS = "device time in steps"
    KNOWN = "device time of known kind"
    IDLE_STEPS = "steps without device work"
    PROCESSES = "processes without device work"
    WHOLE = "device time of kernels whose calls a step don't come out whole"
    OVERHEAD = "time of steps that the profiler took for itself"


MEANINGS = {
    Check(row["check"]): row["meaning"]
    for row in csv_rows(Path(__file__).with_name("certificate.csv"))
}
"""What each check says, of any capture."""


@dataclass(frozen=True)
class _Count:
    """How many of `total` there are; None where that isn't known."""

    number: float | None
    total: float = 0

    @property
    def share(self) -> float | None:
        """Its share; None without a total."""
        return None if self.number is None or not self.total else self.number / self.total


def certificate(
    found: Attributed, in_steps: InSteps, steps: pd.DataFrame, launched: pd.DataFrame
) -> pd.DataFrame:
    """A row per check, with COLUMNS; value: a count, a share (unit "share") or a text.

    steps: the ledger of each step, as placing.steps makes it; launched: a row per path and kernel,
    with activities_in_steps and busy_ns_in_steps.
    """
    lines = [
        *_recorded(found),
        _share(Check.OVERHEAD, _overhead(found)),
        _share(Check.WHOLE, _not_whole(found, in_steps, launched)),
        *_covered(found, in_steps, steps),
    ]
    by_check = {check: rest for check, *rest in lines}
    rows = [(check.value, *by_check[check], MEANINGS[check]) for check in Check]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def doubts(found: Attributed) -> list[str]:
    """The checks of how a capture was recorded, not of its steps, that come to a doubt."""
    return [check.value for check, *_, verdict in _recorded(found) if verdict == Verdict.DOUBT]


Line = tuple[Check, str, str, Verdict]
"""Check, value, unit and verdict."""


def _recorded(found: Attributed) -> list[Line]:
    """The checks of what was recorded and read, whatever the program did."""
    made, lost = found.capture.recording, found.work["missing"] != ""
    return [
        *_facts(made),
        *_counts(found),
        _share(Check.UNANSWERED, _Count(made.unanswered, made.launches)),
        _share(Check.UNLAUNCHED, _Count(int(lost.sum()), len(lost))),
        _share(Check.EARLY, _Count(early(found.work), int((~lost).sum()))),
    ]


def _facts(made: Recording) -> list[Line]:
    """What the profiler says of its recording."""
    major = made.schema.partition(".")[0]
    known = Verdict.OK if major in TRIED else Verdict.DOUBT
    return [
        _count(Check.DROPPED, made.dropped),
        (Check.TRACING, made.tracing, "", Verdict.OK if made.tracing else Verdict.UNKNOWN),
        (Check.SCHEMA, made.schema, "", known if made.schema else Verdict.UNKNOWN),
    ]


def _counts(found: Attributed) -> list[Line]:
    """What notes tell of, of which none should be."""
    counts = pd.Series(
        [note.count for note in found.notes], [note.code for note in found.notes], dtype="int64"
    )
    codes: Mapping[Check, tuple[str, ...]] = {
        Check.UNREAD: UNREAD,
        Check.TWICE: (TWICE,),
        Check.IMPOSSIBLE: (IMPOSSIBLE,),
        Check.REUSED: (REUSED_NUMBERS, "several processes"),
        Check.OVERLAPPING: ("overlapping",),
    }
    return [
        _count(check, int(counts[counts.index.isin(some)].sum())) for check, some in codes.items()
    ]


def _count(check: Check, number: int | None) -> Line:
    """A count that should be 0."""
    if number is None:
        return check, "", "", Verdict.UNKNOWN
    return check, str(number), "count", Verdict.DOUBT if number else Verdict.OK


def _share(check: Check, count: _Count) -> Line:
    """A share that should be at most LOST_AT_MOST."""
    return _told(check, count, doubted=count.share is not None and count.share > LOST_AT_MOST)


def _told(check: Check, count: _Count, doubted: bool = False) -> Line:
    """A share, doubted or not where it is known."""
    if count.share is None:
        return check, "", "", Verdict.UNKNOWN
    return check, f"{count.share:.6g}", "share", Verdict.DOUBT if doubted else Verdict.OK


def _overhead(found: Attributed) -> _Count:
    """Of the time (ns) of steps, that in which the profiler recorded that it worked."""
    calls, ranges = found.capture.calls, found.placed.ranges
    mine = ranges[found.ranged.steps.is_step]
    own = calls[(calls["kind"] == OVERHEAD).to_numpy()]
    taken = Union.of(own["start_ns"].to_numpy(), own["end_ns"].to_numpy())
    spans = Union.of(mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy())
    return _Count(int((taken.until(spans.ends) - taken.until(spans.starts)).sum()), spans.total())


def _not_whole(found: Attributed, in_steps: InSteps, launched: pd.DataFrame) -> _Count:
    """Of the device time (ns) in steps, that of kernels with a part of a call a step."""
    process = pd.Series(found.paths.process[launched["path"].to_numpy()])
    steps = process.map(in_steps.steps).fillna(1).to_numpy()
    partly = (launched["activities_in_steps"].to_numpy() % steps) != 0
    busy = launched["busy_ns_in_steps"]
    return _Count(int(busy[partly].sum()), int(busy.sum()))


def _covered(found: Attributed, in_steps: InSteps, steps: pd.DataFrame) -> list[Line]:
    """How much of the file, of its ranges, steps and processes has device work."""
    work, total = found.work, 0 if found.kernels_lost else found.capture.total_ns
    placed = int(work.loc[work["path"] != NOWHERE, "duration_ns"].sum())
    in_them = int(work.loc[in_steps.work, "duration_ns"].sum()) if len(steps) else None
    empty = int((steps["busy_ns"] == 0).sum()) if len(steps) else None
    without = set(found.capture.processes) - set(work["process"].unique().tolist())
    outside = _Count(total - placed, total).share
    known = int(work.loc[work["family"] != UNKNOWN, "duration_ns"].sum())
    kind = _Count(known, int(work["duration_ns"].sum()))
    return [
        _told(Check.SPAN, _span(found)),
        _told(Check.RANGES, _Count(placed, total), outside is not None and outside > OUTSIDE_LIMIT),
        _told(Check.STEPS, _Count(in_them, total)),
        _told(Check.KNOWN, kind, kind.share is not None and kind.share < KNOWN_AT_LEAST),
        _count(Check.IDLE_STEPS, empty),
        _count(Check.PROCESSES, len(without)),
    ]


def _span(found: Attributed) -> _Count:
    """Of the time (ns) from the file's first event to its last, that with device work."""
    tables = (found.work, found.capture.ranges, found.capture.calls)
    ends = [
        (int(table["start_ns"].min()), int(table["end_ns"].max())) for table in tables if len(table)
    ]
    if not len(found.work) or found.kernels_lost:
        return _Count(None)
    first, last = np.array(ends).T
    return _Count(ends[0][1] - ends[0][0], int(last.max() - first.min()))
