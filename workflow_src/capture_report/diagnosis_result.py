"""What the report says of a capture's steps: what is wrong with them, and how they divide."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_src.capture_report.contents_result import CONTENTS, contents
from workflow_src.capture_report.findings_result import (
    Behind,
    behind,
    finding_rows,
    general,
    ordered,
    smaller_rows,
)
from workflow_src.capture_report.pace import paced
from workflow_src.capture_report.shown import MS, cells_of, filled
from workflow_src.common.table_schema import columns
from workflow_src.common.thresholds import RECORDED_BEYOND
from workflow_src.paper.markdown import records
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Value, rows_of

Tables = Mapping[str, pd.DataFrame]

ACCOUNT = "account"
"""The columns of diagnoses.csv that make up a step's time: what of it has a name."""

OF_DIAGNOSES = (ACCOUNT, "diagnoses")

FEW_STEPS = 3
"""Of so few steps the mean may be that of first ones."""

WARM_UP = r"(?i)warm.?up"

SHOWN: Mapping[str, tuple[str, ...]] = {
    ACCOUNT: (
        "process", "step_ms", "pace", "device_idle_ms", "host_idle_ms", "named_ms",
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
                *(Value(float(row[name]), MS, source, name) for name in ("recorded_ms", other))
            )
        return None


@dataclass(frozen=True)
class Diagnosed:
    """What is known of a capture's steps; all values are per step.

    known: whether there are any that could be diagnosed; plain: whether savings are of the plain
    step; problem: why some process couldn't be diagnosed, or not with the plain time given;
    pace: if a side idles; finding: that saves most, with its remedy; behind: what the pace hides;
    misunderstood, unlike: if what was recorded is far from the replayed, or from the plain step;
    few: the steps, if they are few; paths: of the steps; tables: those that the report shows, by
    the names of their CSVs, and ACCOUNT.
    """

    known: bool
    plain: bool
    problem: str | None
    pace: Headline | None
    finding: tuple[str, str] | None
    behind: Behind | None
    misunderstood: Apart | None
    unlike: Apart | None
    few: Value | None
    paths: tuple[str, ...]
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
    first = findings[~general(findings)][:1]
    process = _said_first(known, first)
    few = known[known["steps"] <= FEW_STEPS]
    return Diagnosed(
        known=len(known) > 0,
        plain=bool(known["plain"].astype(bool).any()),
        problem=next((str(each) for each in rows["problem"] if not pd.isna(each)), None),
        pace=paced(tables, process, several) if len(process) else None,
        finding=next(
            ((str(each["headline"]), str(each["remedy"])) for each in records(first)), None
        ),
        behind=behind(tables["smaller"], process) if len(process) else None,
        misunderstood=Apart.of(off, "replayed_ms"),
        unlike=Apart.of(known[longer], "step_ms"),
        few=_steps_of(few) if len(few) else None,
        paths=tuple(tables["steps"]["path"].astype(str).unique()),
        tables=shown,
    )


def _said_first(known: pd.DataFrame, first: pd.DataFrame) -> pd.DataFrame:
    """The row of the process of the first finding; else that which waits least for others."""
    its = known[known["process"].isin(first["process"])]
    return (its if len(its) else known.sort_values("collective_wait_ms", kind="stable"))[:1]


def _steps_of(rows: pd.DataFrame) -> Value:
    """How many steps the first of some processes has."""
    return Value(int(rows["steps"].iloc[0]), "count", (rows_of("diagnoses", rows[:1]),), "steps")


def _table(rows: pd.DataFrame, name: str, several: bool) -> pd.DataFrame:
    """The columns of a CSV that are shown, in their order, but for those without any value."""
    csv = "diagnoses" if name in OF_DIAGNOSES else name
    described = columns(f"capture/{csv}")
    shown = [described[each] for each in SHOWN[name] if several or each != "process"]
    return filled(cells_of(rows, csv, shown), [each.heading for each in shown])
