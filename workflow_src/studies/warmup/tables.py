"""The tables of the warm-up study."""

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import (
    PHASE_WORDS,
    Column,
    markdown_table,
    number,
    percent,
    plain,
    signed_number,
    signed_percent,
    whole,
)
from workflow_src.studies.rows import filled
from workflow_src.studies.warmup import causes
from workflow_src.studies.warmup.analyze import by_phase, compared, named

NUMBERS = {
    "all steps, ms": "total_ms",
    "warm-up only, ms": "warmup_ms",
    "first step, ms": "first_step_ms",
    "mean, ms": "mean_ms",
    "std, ms": "std_ms",
    "median, ms": "median_ms",
    "p20, ms": "p20_ms",
    "p80, ms": "p80_ms",
    "first step / settled": "first_ratio",
    "mean / settled": "mean_ratio",
}
COLUMNS = (
    Column("size", "size"),
    Column("context", "context", plain),
    Column("phase", "phase"),
    Column("warm-up steps", "warmup_steps", plain),
    *(Column(heading, key, number, "status") for heading, key in NUMBERS.items()),
    Column("steps until settled", "settled_text", str, "status"),
)
PART_COLUMNS = (
    Column("size", "size"),
    Column("phase", "phase"),
    Column("the host's time", "words"),
    Column("first step, ms", "first_step_ms", number),
    Column("settled step, ms", "settled_ms", number),
    Column("difference, ms", "extra_ms", signed_number),
    Column("calls, first step", "first_calls", whole, "no_calls"),
    Column("calls, settled step", "settled_calls", whole, "no_calls"),
)
TRIAL_COLUMNS = (
    Column("phase", "named"),
    Column("first step, ms", "lazy_first_step_ms", number),
    Column("first step, loaded early, ms", "eager_first_step_ms", number),
    Column("settled step, ms", "lazy_settled_ms", number),
    Column("settled step, loaded early, ms", "eager_settled_ms", number),
    Column("extra time explained", "share", percent, "no_share"),
    Column("start, ms", "lazy_build_ms", number),
    Column("start, loaded early, ms", "eager_build_ms", number),
)


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """A row per size and phase, and one per run and phase; those of the cause of first steps."""
    rows = filled(table)
    return {
        "phases": _phases_table(table),
        "runs": _runs_table(table),
        "causes": markdown_table(causes.part_lines(rows), PART_COLUMNS),
        "loading": markdown_table(causes.trial_lines(rows), TRIAL_COLUMNS),
    }


def _phases_table(table: pd.DataFrame) -> Markup:
    """Medians over the runs of a size and phase, and how far the mean of each run is off."""
    lines = []
    for line in by_phase(table):
        excess = {f"after_{steps}": share for steps, share in line.get("excess", {}).items()}
        lines.append(line | excess | {"named": named(line)})
    tried = sorted({steps for line in lines for steps in line.get("excess", {})})
    columns = [
        Column("phase", "named"),
        Column("first step, ms", "first_step_ms", number, "status"),
        Column("settled step, ms", "settled_ms", number, "status"),
        Column("ratio", "first_ratio", number, "status"),
        Column("difference, ms", "extra_ms", number, "status"),
        *(
            Column(f"mean, {steps} warm-up", f"after_{steps}", signed_percent, "status")
            for steps in tried
        ),
    ]
    return markdown_table(lines, columns)


def _runs_table(table: pd.DataFrame) -> Markup:
    rows = [row | {"phase": PHASE_WORDS[row["phase"]]} for row in compared(table)]
    for row in rows:
        if row["status"] == "ok":
            row["settled_text"] = _settled_text(row["settled_after_steps"])
    return markdown_table(rows, COLUMNS)


def _settled_text(steps: float | None) -> str:
    return "not within the run" if steps is None else plain(steps)
