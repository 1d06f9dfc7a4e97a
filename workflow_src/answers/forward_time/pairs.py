"""What the profiler costs a forward pass, by pairs of processes of the study `profiler`."""

import pandas as pd

from workflow_src.answers.conditions import elsewhere
from workflow_src.paper.value import Value, ratio, rows_of, value

TABLE = "studies/profiler"
COLUMNS = frozenset(("case", "status", "plain_ms", "profiled_ms"))


def pairs(table: pd.DataFrame, case: str, environments: pd.DataFrame) -> tuple[Value, ...]:
    """How many times as long it takes with the profiler, by a case's pairs.

    Empty where the study didn't measure the case, or not on a host of its `environments`: what a
    profiler costs differs by the host.
    """
    if not set(table) >= COLUMNS:
        return ()
    mine = table[(table["case"] == case) & (table["status"] == "ok")]
    if elsewhere(mine, environments):
        return ()
    return tuple(pair for line in mine.index if (pair := _ratio(mine.loc[[line]])))


def _ratio(pair: pd.DataFrame) -> Value | None:
    profiled, plain = (
        value(pair[f"{name}_ms"].iloc[0], "ms", rows_of(TABLE, pair))
        for name in ("profiled", "plain")
    )
    return ratio(profiled, plain, "times", "profiled / plain of a pair")
