"""What the report says of findings: when they occur, what they take and save, and what to do."""

from collections.abc import Mapping

import pandas as pd

from workflow_src.capture_report.shown import FIRST_SCREEN
from workflow_src.common.thresholds import REPLAYED_WITHIN
from workflow_src.diagnosis.finding import MECHANISMS
from workflow_src.paper.markdown import records
from workflow_src.paper.value import Cell, Joined, Rows, difference, value

WHERE = ("what", "where")
AMOUNTS = ("in steps", "times a step", "bytes", "host, ms", "device, ms")


def ordered(findings: pd.DataFrame) -> pd.DataFrame:
    """Findings of the process first whose first one saves most; each place of one kind once."""
    most = findings.groupby("process")["saves_ms"].transform("first").fillna(0)
    order = most.sort_values(ascending=False, kind="stable").index
    return findings.loc[order].drop_duplicates(["mechanism", "path"])


def saves_beyond(findings: pd.DataFrame) -> bool:
    """Whether any that isn't true of a whole program saves more than host or device lose by it."""
    special = ~findings["mechanism"].map(lambda key: MECHANISMS[key].general).astype(bool)
    takes = findings[["host_ms", "device_ms"]].max(axis=1)
    return bool((special & (findings["saves_ms"] > (1 + REPLAYED_WITHIN) * takes)).any())


def finding_rows(findings: pd.DataFrame, several: bool) -> pd.DataFrame:
    """A row per finding: when, what it takes and saves, and a step without all so far."""
    lines = []
    for number, row in zip(findings.index, records(findings), strict=True):
        source = Rows("findings", (number,))
        step, saves, all_saved = (
            value(row[name], "ms", source, formula=name)
            for name in ("step_ms", "saves_ms", "saves_with_above_ms")
        )
        first = [*_where(row, several), text_of(row["example"]), *_amounts(row, source)]
        remedy = [text_of(row["assumes"]) if saves else None, str(row["remedy"])]
        lines.append([*first, saves, difference(step, all_saved), *remedy])
    heads = [*WHERE, "for example", *AMOUNTS, "saves, ms", "without all so far, ms"]
    return _filled(lines, [*heads, "assumed without it", "what to do"], several)


def smaller_rows(smaller: pd.DataFrame, several: bool) -> pd.DataFrame:
    """A row per finding that saves little: when, what it takes, and what it saves."""
    lines = []
    most = smaller.sort_values("saves_ms", ascending=False, kind="stable")
    shown = most.drop_duplicates(["mechanism", "path"])[:FIRST_SCREEN]
    for number, row in zip(shown.index, records(shown), strict=True):
        source = Rows("smaller", (number,))
        saves = value(row["saves_ms"], "ms", source)
        lines.append([*_where(row, several), *_amounts(row, source), saves])
    return _filled(lines, [*WHERE, *AMOUNTS, "saves, ms"], several)


def _where(row: Mapping[str, object], several: bool) -> list[Cell]:
    process: list[Cell] = [str(row["process"])] if several else []
    return [*process, str(row["name"]), text_of(row["path"])]


def _amounts(row: Mapping[str, object], source: Rows) -> list[Cell]:
    """When a finding occurs, and what it takes."""
    steps, every = (value(row[name], "count", source) for name in ("in_steps", "of_steps"))
    when = Joined(("the first" if row["first_only"] else steps, every), " of ")
    units = {"calls": "count", "copied_bytes": "bytes", "host_ms": "ms", "device_ms": "ms"}
    return [when, *(value(row[name], unit, source) for name, unit in units.items())]


def _filled(lines: list[list[Cell]], heads: list[str], several: bool) -> pd.DataFrame:
    """A table of these columns, without those that have no value."""
    shown = pd.DataFrame(lines, columns=(["process"] if several else []) + heads, dtype="object")
    return shown if len(shown) == 0 else shown.loc[:, shown.notna().any().to_numpy()]


def text_of(cell: object) -> str | None:
    """A text; None, a dash, for an empty one."""
    return None if pd.isna(cell) else str(cell)  # type: ignore[call-overload]
