"""The tables of answer (a) as Markdown."""

from collections.abc import Mapping

from markupsafe import Markup

from workflow_src.answers import (
    api_time,
    comparable,
    evidence,
    forward_example,
    launch_bound,
    launch_queue,
    step_ledger,
)
from workflow_src.answers.answer import Answer
from workflow_src.answers.comparable import MATCH_WITHIN
from workflow_src.answers.evidence import Row
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

VERDICTS = {
    "match": "match",
    "idle": "differ: the device is idle for much of the unprofiled time",
    "profiler_overhead": "differ: longer under the profiler",
    "not_waited_for": "differ: the range closed before the device was done",
    "faster_profiled": "differ: faster under the profiler",
    "slower_operators": "differ: operators took longer than the whole unprofiled pass",
    "unexplained": "differ: no device activity to tell why",
}

LAUNCH_BOUND = (
    Column("replayed median ms", "replayed_median_ms", markdown.number, "replay_state"),
    Column("launch-bound", "launch_bound_share", markdown.percent, "replay_state"),
)


UNSTEADY = "\N{PLUS-MINUS SIGN}"
"""Marks a time whose processes differ by more than MATCH_WITHIN."""


def mark_of(row: Row, marks: Mapping[str, str]) -> str:
    """The marks of a case's time: of its processes, of its host (`marks`), and of a doubt."""
    unsteady = UNSTEADY if row.get("process_spread", 0.0) > MATCH_WITHIN else ""
    doubt = f" {comparable.MARK}" if row["doubt"] else ""
    return unsteady + marks.get(row["case"], "") + doubt


def time_and_share(value: tuple[float, float, str]) -> str:
    """A time in ms, in brackets the share of it in which the device works, and the marks.

    The share is left out where it isn't known.
    """
    ms, share, mark = value
    if share != share:
        return f"{markdown.number(ms)} ms{mark}"
    # A share just below the limit would look like the limit.
    digits = 1 if share < LAUNCH_BOUND_BELOW <= round(share, 2) else 0
    return f"{markdown.number(ms)} ms ({100 * share:.{digits}f} %){mark}"


def said_of(row: Row) -> str | None:
    """The verdict in words, with the cause of idle time where a replay tested it."""
    if row.get("verdict") == "idle" and row.get("idle_cause") in launch_bound.IDLE_CAUSES:
        return launch_bound.IDLE_CAUSES[row["idle_cause"]]
    return VERDICTS.get(row.get("verdict", ""))


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown."""
    rows = markdown.records(answer.rows["times"])
    on_cpu = answer.summary["words"]["kernel"] == "operator"
    tested = bool(answer.summary["launch_bound"]["precisions"])
    marks = answer.summary["hosts"]["marks"]
    for row in rows:
        if row.get("median_ms", float("nan")) > 0:
            share = row.get("working_share", float("nan"))
            row["shown"] = (row["median_ms"], share, mark_of(row, marks))
        row["said"] = said_of(row)
        row["state"] = row["median_state"] if row["state"] == "ok" else row["state"]
    none = comparable.cell_state(rows)
    no_share = comparable.cell_state(rows, comparable.DOUBTS)
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("unprofiled median ms", "median_ms", markdown.number, "median_state"),
        Column("profiled host ms", "host_ms", markdown.number, "host_state"),
        Column("overhead", "overhead", markdown.signed_percent, none),
        Column(
            "busy (operators' own time) ms" if on_cpu else "busy ms", "busy_ms", markdown.number
        ),
        Column("span ms", "span_ms", markdown.number),
        Column("busy / unprofiled", "working_share", markdown.percent, no_share),
        Column("busy / profiled", "busy_share", markdown.percent),
        *(LAUNCH_BOUND if tested else ()),
        Column("profiled and unprofiled", "said", state=none),
    ]
    replayed = [row | {"state": row["replay_state"]} for row in rows] if tested else []
    return {
        "times": markdown.markdown_table(rows, columns),
        "worked": forward_example.table(answer.summary["worked"], on_cpu, marks),
        "ledger": step_ledger.table(answer.summary["ledger"]),
        "launches": launch_queue.table(answer.summary["launches"]),
        "api": api_time.table(answer.summary["api"]),
        "launch_bound": markdown.matrix(replayed, "launch_bound_share", markdown.percent),
        "overhead": markdown.matrix(
            [row | {"state": row[none]} for row in rows], "overhead", markdown.signed_percent
        ),
        "matrix": markdown.matrix(rows, "shown", time_and_share),
    }
