"""The example of answer (a): one size and context at each precision, and why it takes longer."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from workflow_src.answers.evidence import Row
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

LONGER = ("idle", "profiler_overhead")
"""The verdicts of cases that take longer under the profiler."""

MOSTLY = 0.5
"""Launches are named as what is added if they make up more than this share of it."""

PROFILED = "under the profiler: ms"


def slowed(rows: Sequence[Row]) -> Row | None:
    """Of an example's rows the one that the profiler slows most, with its idle time; or None.

    added is how much longer it takes, idle_before and idle_after the idle time without and with
    the profiler, in ms. by_launches: waits for launches, which only a ledger tells, exceed what was
    idle before by more than MOSTLY of what is added.
    """
    longer = [row for row in rows if row["verdict"] in LONGER and "idle_launch_ledger_ms" in row]
    if not longer:
        return None
    row = max(longer, key=lambda row: row["overhead"])
    before, after = (max(0.0, row[name] - row["busy_ms"]) for name in ("median_ms", "host_ms"))
    added, waits = row["host_ms"] - row["median_ms"], row["idle_launch_ledger_ms"]
    return row | {
        "added": added,
        "idle_before": before,
        "idle_after": after,
        "by_launches": waits - before > MOSTLY * added,
    }


def table(rows: Sequence[Row], on_cpu: bool, marks: Mapping[str, str]) -> Markup:
    """The example's times at each precision, with digits enough to check the shares by hand.

    `marks` tell cases of other kinds of hosts than the usual one.
    """
    shown = [
        row | {"state": "ok", "on": row["precision"] + marks.get(row["case"], "")} for row in rows
    ]
    columns = [
        Column("precision", "on"),
        Column("unprofiled: ms", "median_ms", markdown.precise),
        Column(PROFILED, "host_ms", markdown.precise),
        Column("operators run: ms" if on_cpu else "the GPU works: ms", "busy_ms", markdown.precise),
        Column("works / unprofiled", "working_share", markdown.percent),
        Column("works / profiled", "busy_share", markdown.percent),
    ]
    if any("idle_launch_ledger_ms" in row for row in rows):
        columns.append(Column("waits for a launch: ms", "idle_launch_ledger_ms", markdown.precise))
        waits = Column("between queued kernels: ms", "idle_queued_ledger_ms", markdown.precise)
        columns.append(waits)
    if any("replayed_median_ms" in row for row in rows):
        replayed = Column("replayed: ms", "replayed_median_ms", markdown.precise, "replay_state")
        columns.append(replayed)
    return markdown.markdown_table(shown, columns)
