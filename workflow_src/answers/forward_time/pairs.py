"""What pairs of processes of the study `profiler` say of a forward pass.

How many times as long the profiler makes it, and how long it takes without in other processes.
"""

import pandas as pd

from workflow_src.answers.conditions import elsewhere
from workflow_src.answers.tables import Tables
from workflow_src.paper.value import Value, ratio, rows_of, value

TABLE = "studies/profiler"
COLUMNS = frozenset(("case", "status", "plain_ms", "profiled_ms"))


def _rows(tables: Tables, case: str) -> pd.DataFrame:
    """The study's rows of a case, a pair each.

    Empty where the study didn't measure the case, or not on a host of its environments: what a
    profiler costs differs by the host.
    """
    table = tables.frames.get(TABLE, pd.DataFrame())
    if not set(table) >= COLUMNS:
        return pd.DataFrame()
    mine = table[(table["case"] == case) & (table["status"] == "ok")]
    return mine.iloc[:0] if elsewhere(mine, tables.of("environments", case)) else mine


def pairs(tables: Tables, case: str) -> tuple[Value, ...]:
    """How many times as long the pass takes with the profiler, of each of a case's pairs."""
    rows = _rows(tables, case)
    both = zip(_ms(rows, "profiled"), _ms(rows, "plain"), strict=True)
    made = (ratio(*pair, "times", "profiled / plain of a pair") for pair in both)
    return tuple(filter(None, made))


def _ms(rows: pd.DataFrame, name: str) -> list[Value | None]:
    """The times of a column, in ms, a value per row."""
    sources = (rows_of(TABLE, rows.loc[[line]]) for line in rows.index)
    cells = rows.get(f"{name}_ms", ())
    return [value(ms, "ms", source) for ms, source in zip(cells, sources, strict=True)]
