"""The table of the warm-up study."""

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import PHASE_WORDS, Column, markdown_table, number, plain
from workflow_src.studies.warmup.analyze import compared

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


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """A row per run and phase."""
    rows = [row | {"phase": PHASE_WORDS[row["phase"]]} for row in compared(table)]
    for row in rows:
        if row["status"] == "ok":
            row["settled_text"] = _settled_text(row["settled_after_steps"])
    return {"runs": markdown_table(rows, COLUMNS)}


def _settled_text(steps: float | None) -> str:
    return "not within the run" if steps is None else plain(steps)
