"""Where a profiled step's wall time goes: the device's work, and its idle time by cause.

From ledger.csv, whose terms add up to the wall time of each step, exactly.
"""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import wording
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row
from workflow_src.answers.wording import median_of
from workflow_src.common.units import NS_PER_MS
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TERMS = {
    "device_active": "the device works",
    "idle_launch": "waits for a launch",
    "idle_queued": "between queued kernels",
    "idle_synchronization": "waits after a blocking call",
    "idle_tail": "after the last kernel",
    "idle_profiler": "the profiler's own",
    "idle_unexplained": "unexplained",
}
"""The terms of the ledger, in the order of the report's table."""

SHOWN_FROM = 0.0005
"""A term that takes less than this share in every precision has no column."""


ENDS = (("share", "1"), ("ledger_ms", "ms"))
"""The ends of the names of each term's values, and their units."""

WORST = "idle_unexplained_worst_share"
"""The largest share that is unexplained of any step."""


def measure(device: str, steps: pd.DataFrame) -> Row:
    """Medians over a case's steps: each term's share of the wall time, and its ms; and WORST."""
    if device == "cpu" or steps.empty or "idle_unexplained_ns" not in steps:
        return {}
    found: Row = {WORST: float((steps["idle_unexplained_ns"] / steps["wall_ns"]).max())}
    for term in TERMS:
        found[f"{term}_share"] = float((steps[f"{term}_ns"] / steps["wall_ns"]).median())
        found[f"{term}_ledger_ms"] = float(steps[f"{term}_ns"].median()) / NS_PER_MS
    return found


def facts_of(row: Row, steps: tuple[int, ...]) -> list[Fact]:
    """The facts of one case, given the numbers of its rows in ledger.csv."""
    units = {f"{term}_{end}": unit for term in TERMS for end, unit in ENDS} | {WORST: "1"}
    return [
        Fact(row["case"], name, row[name], unit, "ledger", steps)
        for name, unit in units.items()
        if name in row
    ]


def summarize(rows: Sequence[Row]) -> list[Row]:
    """A row per precision: how many cases have a ledger, and each term's median share over them.

    A case's share is its median over steps, so that a case with more steps has no more weight.
    """
    known = [row for row in rows if "idle_unexplained_share" in row]
    return [
        {"precision": precision, "cases": len(mine)}
        | {term: median_of(mine, f"{term}_share") for term in TERMS}
        | {"unexplained": max(row[WORST] for row in mine)}
        for precision, mine in wording.by_precision(known).items()
    ]


def table(precisions: Sequence[Row]) -> Markup:
    """A line per precision, with a column for each term that takes some time."""
    columns = [Column("precision", "precision"), Column("cases", "cases", str)]
    for term, words in TERMS.items():
        if any(row[term] >= SHOWN_FROM for row in precisions):
            columns.append(Column(words, term, markdown.percent))
    return markdown.markdown_table(precisions, columns)
