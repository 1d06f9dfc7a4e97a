"""What the report says a step does: the most of the device's work and of the host's calls."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.capture_report.shown import cells_of, filled, unit_of
from workflow_src.common.table_schema import Column, columns
from workflow_src.paper.value import Cell, Value, rows_of

CONTENTS = {
    "step_work": ("family", "precision", "path", "example", "calls", "device_ms", "share"),
    "step_calls": ("what", "path", "calls", "host_ms", "blocked_ms", "share"),
}
"""The columns of each CSV that are shown."""

LARGEST = 4
"""So many rows are shown of each process, and then one of all the rest."""

REST = "all the rest"


def contents(table: pd.DataFrame, name: str, several: bool) -> pd.DataFrame:
    """The largest rows of one CSV of CONTENTS, and the sum of the others; by process if several."""
    described = columns(f"capture/{name}")
    shown = [described[each] for each in CONTENTS[name]]
    lines: list[list[Cell]] = []
    for process, rows in table.groupby("process", sort=False):
        first = rows.sort_values("share", ascending=False, kind="stable")[:LARGEST]
        rest = rows.drop(first.index)
        of_process = cells_of(first, name, shown)
        of_process += [_sum(rest, name, shown)] if len(rest) else []
        lines += [[str(process), *line] if several else line for line in of_process]
    heads = (["process"] if several else []) + [each.heading for each in shown]
    return filled(lines, heads)


def _sum(rows: pd.DataFrame, name: str, shown: Sequence[Column]) -> list[Cell]:
    """One row for several: their sums, under a name of its own."""
    source, sums = rows_of(name, rows), rows.sum(numeric_only=True)
    cells: list[Cell] = [REST]
    for each in shown[1:]:
        total = float(sums.get(each.column, 0.0))
        unit = unit_of(each, total)
        whole = Value(total, unit, (source,), f"sum of {each.column}")
        cells.append(whole if each.is_number else None)
    return cells
