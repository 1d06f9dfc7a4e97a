"""What the report says of a capture's steps: what is wrong with them, and how they divide."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_src.capture_report.contents_result import CONTENTS, contents
from workflow_src.capture_report.findings_result import (
    Hidden,
    finding_rows,
    hidden,
    ordered,
    saves_beyond,
    saves_less,
    smaller_rows,
)
from workflow_src.capture_report.shown import cells_of, filled
from workflow_src.common.table_schema import columns
from workflow_src.common.thresholds import RECORDED_BEYOND, SETS_THE_PACE
from workflow_src.diagnosis.diagnose import Pace
from workflow_src.diagnosis.finding import MECHANISMS
from workflow_src.paper.markdown import records
from workflow_src.paper.value import Value, rows_of
from workflow_src.placing.updates import BETWEEN_UPDATES

Tables = Mapping[str, pd.DataFrame]

ACCOUNT = "account"
"""The columns of diagnoses.csv that make up a step's time: what of it has a name."""

OF_DIAGNOSES = (ACCOUNT, "diagnoses")

FEW_STEPS = 3
"""Of so few steps the mean may be that of first ones."""

WARM_UP = r"(?i)warm.?up"

SHOWN: Mapping[str, tuple[str, ...]] = {
    ACCOUNT: (
        "process", "step_ms", "pace", "host_alone_ms", "device_alone_ms", "named_ms",
        "device_left_ms", "launching_ms", "unnamed_ms",
    ),
    "diagnoses": (
        "process", "steps", "recorded_ms", "host_ms", "blocked_ms", "device_ms",
        "collective_wait_ms", "launches",
    ),
    "waits": ("process", "call", "path", "calls", "blocked_ms"),
    "copies": (
        "process", "direction", "source", "target", "path", "copies", "bytes", "device_ms",
        "gb_per_s", "blocked_ms",
    ),
    "gaps": (
        "process", "after_call", "after_path", "before_call", "before_path", "gaps", "gap_ms",
        "longest_ms",
    ),
    "step_differences": ("process", "step", "path", "what", "ms", "median_ms"),
    "idle_causes": ("process", "before", "call", "path", "next_path", "times", "idle_ms"),
}  # fmt: skip
"""The columns of each CSV that the report shows as they are."""


@dataclass(frozen=True)
class Apart:
    """The time of a step as recorded, and by the model or plain, where they are far apart."""

    recorded: Value
    other: Value

    @classmethod
    def of(cls, rows: pd.DataFrame, other: str) -> "Apart | None":
        """The times of the first process, if there is one, the other in this column."""
        source = (rows_of("diagnoses", rows[:1]),)
        for row in records(rows[:1]):
            return cls(
                *(Value(float(row[name]), "ms", source, name) for name in ("recorded_ms", other))
            )
        return None


@dataclass(frozen=True)
class Needs:
    """Which of the report's notes its tables need.

    few: the steps, if they are few; warm_up: whether they are named so; launches: whether launches
    set the pace; host: whether the host's time counts, so that a profiler's does; beyond: whether
    a finding saves more than it takes of host or device; less: or less; waiting: whether the host
    only waits for the device; updates: whether steps lie between updates.
    """

    few: Value | None
    warm_up: bool
    launches: bool
    host: bool
    beyond: bool
    less: bool
    waiting: bool
    updates: bool


@dataclass(frozen=True)
class Diagnosed:
    """What is known of a capture's steps; all values are per step.

    steps: whether there are any that could be diagnosed; plain: whether savings are of the plain
    step; problem: why some process couldn't be diagnosed, or not with the plain time given;
    headline: of the finding that is said first; hidden: the host's time, if much of it is;
    misunderstood: if the model is far from what was recorded; unlike: if that is from the plain
    step; needs: which notes the tables need; tables: those that the report shows, by the names of
    their CSVs, and ACCOUNT.
    """

    steps: bool
    plain: bool
    problem: str | None
    headline: str | None
    hidden: Hidden | None
    misunderstood: Apart | None
    unlike: Apart | None
    needs: Needs
    tables: Tables


def diagnosed(tables: Tables, several: bool) -> Diagnosed:
    """What the tables of a diagnosis say; `several` processes are named."""
    rows = tables["diagnoses"]
    known = rows[rows["recorded_ms"].notna()]
    findings = ordered(tables["findings"])
    of_steps = {ACCOUNT: known[known["step_ms"].notna()], "diagnoses": known}
    off = known[~known["understood"].astype(bool)]
    longer = known["plain"].astype(bool) & (
        known["recorded_ms"] > RECORDED_BEYOND * known["step_ms"]
    )
    shown = {
        "findings": finding_rows(findings, several),
        "smaller": smaller_rows(tables["smaller"], several),
        **{
            name: _table(of_steps[name] if name in of_steps else tables[name], name, several)
            for name in SHOWN
        },
        **{name: contents(tables[name], name, several) for name in CONTENTS},
    }
    return Diagnosed(
        steps=len(known) > 0,
        plain=bool(known["plain"].astype(bool).any()),
        problem=next((str(each) for each in rows["problem"] if not pd.isna(each)), None),
        headline=str(findings["headline"].iloc[0]) if len(findings) else None,
        hidden=hidden(tables["smaller"], known),
        misunderstood=Apart.of(off, "replayed_ms"),
        unlike=Apart.of(known[longer], "step_ms"),
        needs=_needs(known, findings, tables["steps"]),
        tables=shown,
    )


def _needs(known: pd.DataFrame, findings: pd.DataFrame, steps: pd.DataFrame) -> Needs:
    few = known[known["steps"] <= FEW_STEPS]
    path = steps["path"].astype(str)
    busy = (known["device_ms"] >= SETS_THE_PACE * known["recorded_ms"]).any()
    on_host = (findings["host_ms"] > findings["device_ms"]).any()
    return Needs(
        few=_steps_of(few) if len(few) else None,
        warm_up=bool(path.str.contains(WARM_UP).any()),
        launches=bool(findings["mechanism"].map(lambda key: MECHANISMS[key].general).any()),
        host=bool((known["pace"] != Pace.DEVICE).any()),
        beyond=saves_beyond(findings),
        less=saves_less(findings),
        waiting=bool(busy and on_host and not known["understood"].astype(bool).all()),
        updates=bool(path.str.contains(BETWEEN_UPDATES, regex=False).any()),
    )


def _steps_of(rows: pd.DataFrame) -> Value:
    """How many steps the first of some processes has."""
    return Value(int(rows["steps"].iloc[0]), "count", (rows_of("diagnoses", rows[:1]),), "steps")


def _table(rows: pd.DataFrame, name: str, several: bool) -> pd.DataFrame:
    """The columns of a CSV that are shown, in their order, but for those without any value."""
    csv = "diagnoses" if name in OF_DIAGNOSES else name
    described = columns(f"capture/{csv}")
    shown = [described[each] for each in SHOWN[name] if several or each != "process"]
    return filled(cells_of(rows, csv, shown), [each.heading for each in shown])
