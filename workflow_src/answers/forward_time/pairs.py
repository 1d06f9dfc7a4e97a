"""What pairs of processes of the study `profiler` say of a forward pass.

How many times as long the profiler makes it, and how long it takes without in other processes.
"""

from collections.abc import Iterable

import pandas as pd

from workflow_src.answers.conditions import elsewhere
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.thresholds import MATCH_WITHIN
from workflow_src.paper.value import Cell, Joined, Value, count, ratio, rows_of, value

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


def outside(tables: Tables, cases: Iterable[PhaseTimes]) -> pd.DataFrame:
    """A row per case whose plain time is further than MATCH_WITHIN from all of the study's."""
    lines = (_outside(each, _ms(_rows(tables, each.case.case), "plain")) for each in cases)
    heads = ["case", "here, ms", "in the study, ms", "processes there"]
    return pd.DataFrame(filter(None, lines), columns=heads, dtype="object")


def _outside(times: PhaseTimes, others: Iterable[Value | None]) -> list[Cell] | None:
    """The row of a case; None if its fastest to its slowest process meet the study's."""
    theirs = sorted(filter(None, others), key=lambda each: each.number)
    low, high = times.fastest or times.plain, times.slowest or times.plain
    if not theirs or low is None or high is None:
        return None
    least, most = theirs[0].number * (1 - MATCH_WITHIN), theirs[-1].number * (1 + MATCH_WITHIN)
    if least <= high.number and low.number <= most:
        return None
    here = Joined((low, high), " to ") if low is not high else times.plain_told
    return [times.case.case, here, Joined((theirs[0], theirs[-1]), " to "), count(theirs)]
