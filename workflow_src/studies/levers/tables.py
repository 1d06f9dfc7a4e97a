"""The tables of the levers study."""

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import (
    PHASE_WORDS,
    Column,
    fine_percent,
    formatted,
    markdown_table,
    number,
    percent,
    signed_number,
    signed_percent,
)
from workflow_src.studies.levers.analyze import (
    alone,
    broken,
    by_case,
    device_saving,
    misses,
    plain_of,
    shown,
    stacked,
    steps,
    worded,
)
from workflow_src.studies.levers.points import PLAIN, remedies_for
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Row

WHICH = (Column("case", "case"), Column("with", "words"))


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Savings by remedy and case, the stacks, misses, and all phases, errors and memory."""
    return {
        "savings": _savings(table),
        "stacks": _stacks(table),
        "misses": _misses(misses(table)),
        "scores": _scores(table),
        "effects": _effects(table),
    }


def _savings(table: pd.DataFrame) -> Markup:
    """A line per remedy: what it alone saves of each case's training step, and its memory."""
    cases = by_case(table)
    lines: dict[str, Row] = {}
    for case, rows in cases.items():
        plain = plain_of(rows)
        for row in alone(rows):
            line = lines.setdefault(row["last"], {"remedy": row["last"]} | {
                f"state/{other}": "none" for other, mine in cases.items()
                if row["list"][0] not in remedies_for(mine[0]["precision"])
            })  # fmt: skip
            line[case] = None if broken(row, plain) else _saving(row, plain)
            line[f"state/{case}"] = "not_finite" if broken(row, plain) else _state(row)
            line[f"device/{case}"] = device_saving(row, plain)
            line[f"memory/{case}"] = memory_change(row, plain)
    columns = [Column("remedy alone", "remedy")]
    for case in cases:
        columns += [Column(f"{case} saves", case, formatted, f"state/{case}")]
        columns += [Column("of the device's work", f"device/{case}", percent, f"state/{case}")]
        columns += [Column("memory", f"memory/{case}", signed_percent, f"state/{case}")]
    return markdown_table(list(lines.values()), columns)


def _saving(row: Row, plain: Row) -> str | None:
    """What a remedy saves of a step, in parentheses if no difference to the plain one is shown."""
    share = row.get("saving_share")
    if share is None:
        return None
    return percent(share) if shown(row, plain) else f"({percent(share)})"


def _state(row: Row) -> str:
    return "none" if row["status"] == "ok" else str(row["status"])


def memory_change(row: Row, plain: Row) -> float | None:
    """By which share a step's peak memory differs from the plain one's; None if unknown."""
    if not plain.get("peak_memory_mib") or not row.get("peak_memory_mib"):
        return None
    return float(row["peak_memory_mib"] / plain["peak_memory_mib"] - 1)


def _stacks(table: pd.DataFrame) -> Markup:
    """A line per case and remedy, put on top of those before it."""
    lines = []
    for rows in by_case(table).values():
        for row in stacked(rows):
            name = row["words"] if row["variant"] == PLAIN else f"+ {row['last']}"
            lines.append(row | {"words": name})
    columns = [
        *WHICH,
        Column("training step, ms", "median_ms", number, "status"),
        Column("saved in all", "saving_share", percent, "status"),
        Column("predicted, ms", "predicted_ms", number, "none"),
        Column("peak memory, MiB", "peak_memory_mib", number, "status"),
    ]
    return markdown_table(_without_reason(lines), columns)


def _without_reason(rows: list[Row]) -> list[Row]:
    return [row | {"reason": "", "none": "none"} for row in rows]


def _scored_columns() -> list[Column]:
    return [
        Column("measured, ms", "median_ms", number, "status"),
        Column("predicted, ms", "predicted_ms", number, "none"),
        Column("from", "predicted_low", number, "none"),
        Column("to", "predicted_high", number, "none"),
        Column("device, measured", "device_ms", number, "none"),
        Column("device, predicted", "predicted_device_ms", number, "none"),
    ]


def _misses(rows: list[Row]) -> Markup:
    """A line per training step outside its interval, the worst first."""
    columns = [
        *WHICH,
        *_scored_columns(),
        Column("off by device, ms", "off_device_ms", signed_number, "none"),
        Column("off by the rest, ms", "off_rest_ms", signed_number, "none"),
    ]
    return markdown_table(_without_reason(rows), columns)


def _scores(table: pd.DataFrame) -> Markup:
    """A line per case, variant and phase: measured and predicted, misses first."""
    tried = [worded(row) for row in filled(table) if row["variant"] != PLAIN]
    rows = [row | {"phase": PHASE_WORDS[row["phase"]]} for row in tried]
    rows.sort(key=lambda row: row.get("verdict") != "outside")
    columns = [
        *WHICH,
        Column("phase", "phase"),
        *_scored_columns(),
        Column("saved, ms", "saving_ms", signed_number, "none"),
        Column("predicted saving, ms", "predicted_saving_ms", signed_number, "none"),
        Column("verdict", "verdict", str, "none"),
        Column("because", "why", str, "none"),
    ]
    return markdown_table(_without_reason(rows), columns)


def _effects(table: pd.DataFrame) -> Markup:
    """A line per case and variant: memory, errors of results, and the time of compiling."""
    rows = [row | {"none": "none", "error_state": _error_state(row)} for row in steps(table)]
    columns = [
        *WHICH,
        Column("peak memory, MiB", "peak_memory_mib", number, "status"),
        Column("largest error of logits", "logits_error", fine_percent, "error_state"),
        Column("of gradients", "gradients_error", fine_percent, "error_state"),
        Column("compiling, s", "compile_s", number, "none"),
    ]
    return markdown_table(rows, columns)


def _error_state(row: Row) -> str:
    """Why errors have no value: results that were compared and have none aren't finite."""
    compared = row.get("error_state")
    return "not_finite" if compared == "ok" else str(compared or row["status"])
