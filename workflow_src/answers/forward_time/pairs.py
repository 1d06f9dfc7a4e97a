"""What the profiler costs a forward pass, by pairs of processes of the study `profiler`."""

import pandas as pd

from workflow_src.answers.conditions import elsewhere
from workflow_src.render.value import Value, median, ratio, rows_of, value

TABLE = "studies/profiler"
COLUMNS = frozenset(("case", "status", "plain_ms", "profiled_ms"))


def paired(table: pd.DataFrame, case: str, environments: pd.DataFrame) -> Value | None:
    """How many times as long it takes with the profiler: the median of a case's pairs.

    None where the study didn't measure the case, or not on a host of its `environments`: what a
    profiler costs differs by the host.
    """
    if not set(table) >= COLUMNS:
        return None
    mine = table[(table["case"] == case) & (table["status"] == "ok")]
    if elsewhere(mine, environments):
        return None
    return median(_ratio(mine.loc[[line]]) for line in mine.index)


def _ratio(pair: pd.DataFrame) -> Value | None:
    profiled, plain = (
        value(pair[f"{name}_ms"].iloc[0], "ms", rows_of(TABLE, pair))
        for name in ("profiled", "plain")
    )
    return ratio(profiled, plain, "near_one", "profiled / plain of a pair")
