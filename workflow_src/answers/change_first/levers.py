"""What the study levers measured to save of training steps, for answer (f)."""

import pandas as pd

from workflow_src.common.words import in_words
from workflow_src.render.value import Cell, Joined, Value, rows_of, value

TABLE = "studies/levers"
_COLUMNS = """case variant remedies batches phase status median_ms saving_share error_state
gradients_error"""
COLUMNS = frozenset(_COLUMNS.split())
PHASE, PLAIN = "train_step", "plain"
HEADINGS = (
    "training step of",
    "plain, ms",
    "saves most alone, by medians",
    "saves",
    "saves most together",
    "saves in all",
)


def measured(table: pd.DataFrame) -> pd.DataFrame:
    """A row per case of the study: what saves most of its training step alone, and with others.

    Left out are steps whose gradients aren't finite, and more batches in a step, which save no time
    of the same step. Empty if the study never ran.
    """
    rows = []
    if set(table) >= COLUMNS:
        for case, mine in _done(table).groupby("case", sort=False):
            plain = mine[mine["variant"] == PLAIN]
            if len(plain) and len(mine) > 1:
                rows.append([str(case), _value(plain, "median_ms", "ms"), *_saves(mine)])
    return pd.DataFrame(rows, columns=list(HEADINGS), dtype="object")


def _done(table: pd.DataFrame) -> pd.DataFrame:
    """The training steps of one batch that ran, with finite gradients where these were compared."""
    kept = (table["phase"] == PHASE) & (table["status"] == "ok") & table["median_ms"].notna()
    broken = (table["error_state"] == "ok") & table["gradients_error"].isna()
    return table[kept & ~broken & ~(table["batches"] > 1)]


def _saves(rows: pd.DataFrame) -> list[Cell]:
    """The remedy that saves most by itself and what it saves, and the same of several together."""
    several = rows["remedies"].astype(str).str.contains("+", regex=False)
    saving = rows["saving_share"] > 0
    cells: list[Cell] = []
    for mine in (rows[saving & ~several], rows[saving & several]):
        best = mine.nlargest(1, "saving_share")
        names = [in_words(name) for text in best["remedies"] for name in str(text).split("+")]
        cells += [Joined(tuple(names), ", ") if names else None]
        cells += [_value(best, "saving_share", "share")]
    return cells


def _value(rows: pd.DataFrame, column: str, unit: str) -> Value | None:
    if rows.empty:
        return None
    return value(rows[column].iloc[0], unit, rows_of(TABLE, rows.iloc[:1]), formula="measured")
