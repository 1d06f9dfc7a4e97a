"""How long the host is inside CUDA calls in a step, by kind of call.

From api_calls.csv. Launching takes time in every step; synchronizing takes long only where the
device has more to do than the host, which then waits for it.
"""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import wording
from workflow_src.answers.evidence import Row
from workflow_src.common.units import NS_PER_MS, NS_PER_US
from workflow_src.render import markdown
from workflow_src.render.markdown import PHASE_WORDS, Column

KINDS = {
    "launch": "launching",
    "synchronize": "waiting for the device",
    "memcpy": "copying",
    "memset": "filling",
    "malloc": "allocating",
    "free": "freeing",
    "other": "other calls",
}
"""The kinds of calls in api_calls.csv, in the order of the table's columns."""


def summarize(calls: pd.DataFrame) -> list[Row]:
    """A row per precision and phase: medians over its cases, a step, of ms in each kind of call.

    Also `launches`, the number of launches, and `launch_us`, the time of one.
    """
    if calls.empty:
        return []
    steps = calls.assign(
        ms=calls["total_ns"] / calls["steps"] / NS_PER_MS, number=calls["calls"] / calls["steps"]
    )
    keys = ["precision", "phase", "case"]
    ms = steps.pivot_table(index=keys, columns="kind", values="ms", aggfunc="sum", fill_value=0.0)
    ms["launches"] = steps[steps["kind"] == "launch"].groupby(keys)["number"].sum()
    ms["launch_us"] = ms.get("launch", 0.0) * NS_PER_MS / NS_PER_US / ms["launches"]
    grouped = ms.groupby(level=["precision", "phase"], sort=False)
    found = grouped.median().assign(cases=grouped.size()).reset_index()
    rows = wording.by_precision(markdown.records(found))
    return [row for mine in rows.values() for row in mine]


def table(rows: Sequence[Row]) -> Markup:
    """A line per precision and phase, with a column for each kind of call that there was."""
    columns = [
        Column("precision", "precision"),
        Column("phase", "phase", PHASE_WORDS.__getitem__),
        Column("cases", "cases", markdown.whole),
        Column("launches", "launches", markdown.whole),
        Column("us per launch", "launch_us", markdown.number),
        *(
            Column(f"{words}, ms", kind, markdown.number)
            for kind, words in KINDS.items()
            if any(row.get(kind) for row in rows)
        ),
    ]
    return markdown.markdown_table(rows, columns)
