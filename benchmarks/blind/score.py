"""A reader's answers beside the key: which causes were named, and how near the milliseconds are."""

from pathlib import Path

import pandas as pd

from benchmarks.blind.plan import NO_FAULT
from workflow_src.common.errors import StageError

ANSWERS = ("name", "cause", "ms")
"""Columns of a reader's file: the cause by its key in docs/findings.md, or "none", and what a step
would save without it."""

NEAR = 0.1
"""Of a step's time: milliseconds that differ by no more are near."""


def scored(answers: pd.DataFrame, key: pd.DataFrame) -> pd.DataFrame:
    """A row per capture: fault, cause, named (whether they agree), cost_ms, ms, off (share of a
    step), near.

    Raises StageError if a column or an answer is missing.
    """
    if missing := [name for name in ANSWERS if name not in answers]:
        raise StageError(f"answers have no column {missing[0]!r}; they need {', '.join(ANSWERS)}")
    if unanswered := sorted(set(key["name"]) - set(answers["name"])):
        raise StageError(
            f"answers have no row of {unanswered[0]!r}; write none if nothing is wrong"
        )
    table = key.merge(answers[list(ANSWERS)], on="name", how="left", validate="one_to_one")
    cost = table["cost_ms"].where(table["fault"] != NO_FAULT, 0.0)
    off = (table["ms"].fillna(0.0) - cost).abs() / table["plain_ms"]
    table = table.assign(named=table["cause"] == table["fault"], cost_ms=cost, off=off)
    columns = ["name", "fault", "cause", "named", "pace", "profiler", "plain_ms", "cost_ms", "ms"]
    return table.assign(near=off <= NEAR)[[*columns, "off", "near"]]


def summary(table: pd.DataFrame) -> str:
    """How many were named, and how many of these are near."""
    named = table[table["named"]]
    return (
        f"{len(named)} of {len(table)} named; of these {int(named['near'].sum())} within "
        f"{100 * NEAR:.0f} % of a step, the worst off by {100 * named['off'].max():.0f} %"
        if len(named)
        else f"0 of {len(table)} named"
    )


def score(answers: Path, key: Path) -> str:
    """The table of a reader's answers and its summary, as text."""
    table = scored(pd.read_csv(answers), pd.read_csv(key, keep_default_na=False))
    return f"{table.round(3).to_string(index=False)}\n{summary(table)}"
