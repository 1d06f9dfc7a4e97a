"""What the report says of findings: when they occur, what they take and save, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_src.capture_report.shown import FIRST_SCREEN, MS, filled, text_of
from workflow_src.common.thresholds import FINDING_AT_LEAST, IDLES
from workflow_src.diagnosis.finding import MECHANISMS
from workflow_src.paper.markdown import records
from workflow_src.paper.value import Cell, Joined, Rows, Value, difference, rows_of, value

OF_HOST = ("slow_loader", "host_gap", "python_in_a_layer")
"""In which the host neither launches nor waits."""

AMOUNTS = ("in steps", "times in such a step", "bytes", "host, ms", "device, ms")


def ordered(findings: pd.DataFrame) -> pd.DataFrame:
    """Findings of the process first whose first one saves most; each place of one kind once."""
    most = findings.groupby("process")["saves_ms"].transform("first").fillna(0)
    order = most.sort_values(ascending=False, kind="stable").index
    return findings.loc[order].drop_duplicates(["mechanism", "path"])


def general(findings: pd.DataFrame) -> "pd.Series[bool]":
    """Which are true of a whole program."""
    return findings["mechanism"].map(lambda key: MECHANISMS[key].general).astype(bool)


def finding_rows(findings: pd.DataFrame, several: bool) -> pd.DataFrame:
    """A row per finding: when, what it takes and saves, and a step without all so far.

    What is true of a whole program saves what is left of the host, which the account has.
    """
    lines = []
    findings = findings[~(general(findings) & findings["saves_ms"].notna())]
    for number, row in zip(findings.index, records(findings), strict=True):
        source = Rows("findings", (number,))
        step, saves, all_saved = (
            value(row[name], "ms", source, formula=name)
            for name in ("step_ms", "saves_ms", "saves_with_above_ms")
        )
        shown = [text_of(row["example"]), _between(row, source)]
        first = [*_where(row, several), *shown, *_amounts(row, source)]
        remedy = [text_of(row["assumes"]) if saves else None, str(row["remedy"])]
        lines.append([*first, saves, difference(step, all_saved), *remedy])
    heads = [*_where_heads(several), "for example", "gaps lie at", *AMOUNTS]
    saving = ["saves, ms", "without all so far, ms", "assumed without it", "what to do"]
    return filled(lines, heads + saving)


def smaller_rows(smaller: pd.DataFrame, several: bool) -> pd.DataFrame:
    """A row per finding that saves little: as finding_rows, but for a step without all so far."""
    lines = []
    most = smaller.sort_values("saves_ms", ascending=False, kind="stable")
    shown = most.drop_duplicates(["mechanism", "path"])[:FIRST_SCREEN]
    for number, row in zip(shown.index, records(shown), strict=True):
        source = Rows("smaller", (number,))
        saves = value(row["saves_ms"], "ms", source)
        first = [*_where(row, several), text_of(row["example"]), *_amounts(row, source)]
        lines.append([*first, saves, str(row["assumes"]), str(row["remedy"])])
    saving = ["saves, ms", "assumed without it", "what to do"]
    return filled(lines, [*_where_heads(several), "for example", *AMOUNTS, *saving])


@dataclass(frozen=True)
class Behind:
    """What the side that sets the pace hides: its name, place and remedy, ms of `of` a step."""

    name: str
    path: str
    remedy: str
    ms: Value
    of: Value
    device: bool


def behind(smaller: pd.DataFrame, row: pd.DataFrame) -> Behind | None:
    """The longest that saves little of a side that idles, if it is much of a step of its process.

    Of a device, any; of a host, what it computes: it waits for the device that sets the pace.
    """
    of = row.iloc[0]
    device = of["device_idle_ms"] > IDLES * of["step_ms"]
    if not device and not of["host_idle_ms"] > IDLES * of["step_ms"]:
        return None
    side = "device_ms" if device else "host_ms"
    mine = smaller[(smaller["process"] == of["process"]) & ~smaller["first_only"].astype(bool)]
    much = mine[side] - mine["saves_ms"] >= FINDING_AT_LEAST * of["step_ms"]
    hidden = mine[much & (device | mine["mechanism"].isin(OF_HOST))]
    hidden = hidden.sort_values(side, ascending=False)[:1]
    for found in records(hidden):
        texts = (str(found["name"]), text_of(found["path"]) or "no range", str(found["remedy"]))
        ms = Value(float(str(found[side])), MS, (rows_of("smaller", hidden),), side)
        whole = Value(float(of[side]), MS, (rows_of("diagnoses", row),), side)
        return Behind(*texts, ms, whole, device)
    return None


def _where_heads(several: bool) -> list[str]:
    return [*(["process"] if several else []), "what", "where"]


def _where(row: Mapping[str, object], several: bool) -> list[Cell]:
    process: list[Cell] = [str(row["process"])] if several else []
    paths = [text for path in (row["path"], row["also_in"]) if (text := text_of(path))]
    return [*process, str(row["name"]), " and ".join(paths) or None]


def _between(row: Mapping[str, object], source: Rows) -> Cell:
    """Between which calls the host's time lies, where a finding is a matter of that alone."""
    places = value(row["gap_places"], "count", source)
    if places is None or places.number > 1:
        return Joined((places, "places"), " ") if places else None
    sides = (("gap_after", "gap_after_path"), ("gap_before", "gap_before_path"))
    texts = ([text for name in side if (text := text_of(row[name]))] for side in sides)
    return " \N{RIGHTWARDS ARROW} ".join(" in ".join(side) for side in texts)


def _amounts(row: Mapping[str, object], source: Rows) -> list[Cell]:
    """When a finding occurs, and what it takes."""
    steps, every = (value(row[name], "count", source) for name in ("in_steps", "of_steps"))
    when = Joined(("the first" if row["first_only"] else steps, every), " of ")
    units = {"calls": "count", "copied_bytes": "bytes", "host_ms": "ms", "device_ms": "ms"}
    return [when, *(value(row[name], unit, source) for name, unit in units.items())]
