"""What the report says of a capture's steps: what is wrong with them, and how they divide."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_src.render.markdown import records
from workflow_src.render.value import Cell, Rows, Value, difference, rows_of, value

Tables = Mapping[str, pd.DataFrame]

Shown = dict[str, tuple[str, str | None]]
"""Columns of a CSV: the heading of each, and the unit of its numbers; None for texts."""

DIVISION: Shown = {
    "process": ("process", None),
    "steps": ("steps", "count"),
    "recorded_ms": ("a step as recorded", "ms"),
    "host_ms": ("host: its own time", "ms"),
    "blocked_ms": ("host: held up by the device", "ms"),
    "device_ms": ("a device works", "ms"),
    "collective_wait_ms": ("of it waiting in collectives", "ms"),
    "step_ms": ("a step that savings are of", "ms"),
    "device_alone_ms": ("if the host took no time", "ms"),
    "host_alone_ms": ("if the device took no time", "ms"),
}
WAITS: Shown = {
    "process": ("process", None),
    "call": ("call", None),
    "path": ("range path", None),
    "calls": ("calls", ""),
    "blocked_ms": ("host held up, ms", "ms"),
}
COPIES: Shown = {
    "process": ("process", None),
    "direction": ("direction", None),
    "source": ("from", None),
    "target": ("to", None),
    "path": ("range path", None),
    "copies": ("copies", ""),
    "bytes": ("bytes", "bytes"),
    "device_ms": ("device, ms", "ms"),
    "gb_per_s": ("GB/s", "GB/s"),
    "blocked_ms": ("host held up, ms", "ms"),
}
GAPS: Shown = {
    "process": ("process", None),
    "after_call": ("after the call", None),
    "after_path": ("in", None),
    "before_call": ("before the call", None),
    "before_path": ("in", None),
    "gaps": ("gaps", ""),
    "gap_ms": ("all, ms", "ms"),
    "longest_ms": ("longest, ms", "ms"),
}
DIFFERENCES: Shown = {
    "process": ("process", None),
    "step": ("step", "count"),
    "path": ("range path", None),
    "what": ("what", None),
    "ms": ("ms", "ms"),
    "median_ms": ("median step, ms", "ms"),
}
IDLE_CAUSES: Shown = {
    "process": ("process", None),
    "before": ("what stood before", None),
    "call": ("call", None),
    "path": ("in", None),
    "next_path": ("before work in", None),
    "times": ("times", ""),
    "idle_ms": ("idle, ms", "ms"),
}


@dataclass(frozen=True)
class Misunderstood:
    """The time of a step by the model, and the recorded one, where they are too far apart."""

    replayed: Value
    recorded: Value


@dataclass(frozen=True)
class Diagnosed:
    """What is known of a capture's steps; all values are per step.

    steps: whether there are any that could be diagnosed; plain: whether savings are of the plain
    step; problem: why some process couldn't be diagnosed, or not with the plain time given;
    headline: of the finding that is said first; tables: those that the report shows, by the names
    of their CSVs.
    """

    steps: bool
    plain: bool
    problem: str | None
    headline: str | None
    misunderstood: Misunderstood | None
    tables: Tables


def diagnosed(tables: Tables, several: bool) -> Diagnosed:
    """What the tables of a diagnosis say; `several` processes are named."""
    rows = tables["diagnoses"]
    known = rows[rows["step_ms"].notna()]
    findings = _ordered(tables["findings"])
    off = known[~known["understood"].astype(bool)]
    shown = {
        "findings": _findings(findings, several),
        "diagnoses": _table(known, "diagnoses", DIVISION, several),
        "waits": _table(tables["waits"], "waits", WAITS, several),
        "copies": _table(tables["copies"], "copies", COPIES, several),
        "gaps": _table(tables["gaps"], "gaps", GAPS, several),
        "step_differences": _table(
            tables["step_differences"], "step_differences", DIFFERENCES, several
        ),
        "idle_causes": _table(tables["idle_causes"], "idle_causes", IDLE_CAUSES, several),
    }
    return Diagnosed(
        steps=len(known) > 0,
        plain=bool(known["plain"].astype(bool).any()),
        problem=next((str(each) for each in rows["problem"] if not pd.isna(each)), None),
        headline=str(findings["headline"].iloc[0]) if len(findings) else None,
        misunderstood=_misunderstood(off) if len(off) else None,
        tables=shown,
    )


def _ordered(findings: pd.DataFrame) -> pd.DataFrame:
    """Findings of the process first whose first one saves most; each place of one kind once."""
    most = findings.groupby("process")["saves_ms"].transform("first").fillna(0)
    order = most.sort_values(ascending=False, kind="stable").index
    return findings.loc[order].drop_duplicates(["mechanism", "path"])


def _misunderstood(rows: pd.DataFrame) -> Misunderstood:
    """Of the first process that isn't understood."""
    source = rows_of("diagnoses", rows[:1])
    replayed, recorded = (
        Value(float(rows[f"{name}_ms"].iloc[0]), "ms", (source,), f"{name}_ms")
        for name in ("replayed", "recorded")
    )
    return Misunderstood(replayed, recorded)


def _findings(findings: pd.DataFrame, several: bool) -> pd.DataFrame:
    """A row per finding: what it takes, a step without it, and without all so far."""
    lines = []
    for number, row in zip(findings.index, records(findings), strict=True):
        source = Rows("findings", (number,))
        step, saves, all_saved = (
            value(row[name], "ms", source, formula=name)
            for name in ("step_ms", "saves_ms", "saves_with_above_ms")
        )
        line: list[Cell] = [str(row["process"])] if several else []
        line += [str(row["name"]), _text(row["path"]), _text(row["example"])]
        line += [value(row["calls"], "", source)]
        line += [value(row[name], "ms", source) for name in ("host_ms", "device_ms")]
        line += [saves, difference(step, saves), difference(step, all_saved), str(row["remedy"])]
        lines.append(line)
    heads = ["what", "where", "for example", "times", "host, ms", "device, ms", "saves, ms"]
    heads += ["without it, ms", "without all so far, ms", "what to do"]
    return pd.DataFrame(lines, columns=(["process"] if several else []) + heads, dtype="object")


def _table(rows: pd.DataFrame, table: str, shown: Shown, several: bool) -> pd.DataFrame:
    """The columns of a CSV that are shown, in their order, but for those without any value."""
    columns = {name: each for name, each in shown.items() if several or name != "process"}
    lines = []
    for number, row in zip(rows.index, records(rows), strict=True):
        source = Rows(table, (number,))
        lines.append(
            [
                _text(row[name]) if unit is None else value(row[name], unit, source, formula=name)
                for name, (_, unit) in columns.items()
            ]
        )
    heads = [head for head, _ in columns.values()]
    cells = pd.DataFrame(lines, columns=heads, dtype="object")
    return cells.loc[:, cells.notna().any().to_numpy()]


def _text(cell: object) -> str | None:
    """A text; None, a dash, for an empty one."""
    return None if pd.isna(cell) else str(cell)  # type: ignore[call-overload]
