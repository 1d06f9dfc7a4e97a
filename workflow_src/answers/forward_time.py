"""(a) How long does a forward pass take, and do the profiler and Python's own timer agree?"""

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import command, evidence
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TITLE = "How long does the forward pass take, and does that match the unprofiled timing?"
PHASE = "forward"

MATCH_WITHIN = 0.10
"""Profiled and unprofiled times match if they differ by at most this share."""

TIMES = ("host_ms", "busy_ms", "span_ms")

VERDICTS = {
    "match": "match",
    "launch_bound": "differ: launch-bound",
    "profiler_overhead": "differ: profiler overhead",
    "not_waited_for": "differ: the range closed before the device was done",
    "faster_profiled": "differ: faster under the profiler",
    "unexplained": "differ: no device activity to tell why",
}


def verdict(host: float, busy: float, span: float, median: float) -> str:
    """Whether a profiled host time matches the unprofiled median (all in ms): a key of VERDICTS."""
    if abs(host / median - 1) <= MATCH_WITHIN:
        return "match"
    if host < median:
        return "not_waited_for" if span > host else "faster_profiled"
    if not busy > 0:
        return "unexplained"
    return "launch_bound" if busy < LAUNCH_BOUND_BELOW * host else "profiler_overhead"


def measure(case: Row, timings: pd.DataFrame, ranges: pd.DataFrame, captures: pd.DataFrame) -> Row:
    """One case's times in ms (medians over steps), their ratios and the verdict on them."""
    name = case["case"]
    steps = evidence.of(ranges, name, PHASE)
    steps = steps[steps["path"] == PHASE]
    profiled = evidence.profile_state(timings, captures, steps, name, PHASE)
    benchmark = evidence.benchmark_state(timings, name, PHASE)
    row: Row = case | {"state": profiled.word, "reason": profiled.reason}
    row |= {"host_state": profiled.word, "median_state": benchmark.word}
    if not steps.empty and profiled.word in ("ok", "no_activity"):
        row |= {"host_ms": float(steps["host_ms"].median()), "host_state": "ok"}
    if profiled.word == "ok":
        row |= {time: float(steps[time].median()) for time in TIMES}
        row["busy_share"] = row["busy_ms"] / row["host_ms"]
        row["launch_bound"] = row["busy_share"] < LAUNCH_BOUND_BELOW
    if benchmark.word == "ok":
        row["median_ms"] = float(evidence.of(timings, name, PHASE)["median_ms"].iloc[0])
    if "host_ms" in row and "median_ms" in row:
        row["overhead"] = row["host_ms"] / row["median_ms"] - 1
        busy, span = row.get("busy_ms", 0.0), row.get("span_ms", 0.0)
        row["verdict"] = verdict(row["host_ms"], busy, span, row["median_ms"])
    return row


def facts_of(row: Row, timings: pd.DataFrame, ranges: pd.DataFrame) -> list[Fact]:
    """The facts of one measured case."""
    case = row["case"]
    steps = evidence.of(ranges, case, PHASE)
    bearing = evidence.row_numbers(steps[steps["path"] == PHASE])
    found = [Fact(case, time, row[time], "ms", "ranges", bearing) for time in TIMES if time in row]
    if "median_ms" in row:
        rows = evidence.row_numbers(evidence.of(timings, case, PHASE))
        found.append(Fact(case, "median_ms", row["median_ms"], "ms", "timings", rows))
    derived = {
        "overhead": ("1", ("host_ms", "median_ms")),
        "busy_share": ("1", ("busy_ms", "host_ms")),
        "launch_bound": ("", ("busy_share",)),
        "verdict": ("", ("overhead", "busy_share")),
    }
    found += [
        Fact(case, name, row[name], unit, derived_from=tuple(s for s in sources if s in row))
        for name, (unit, sources) in derived.items()
        if name in row
    ]
    return found


def answer(timings: pd.DataFrame, ranges: pd.DataFrame, captures: pd.DataFrame) -> Answer:
    """Answer (a) from timings.csv, ranges.csv and captures.csv."""
    cases = evidence.cases_of(timings, captures, ranges)
    rows = [measure(case, timings, ranges, captures) for case in cases]
    states = states_of(rows)
    facts = [fact for row in rows for fact in facts_of(row, timings, ranges)]
    summary = summarize(rows)
    return evidence.answered(
        "a", TITLE, cases, states, captures, facts, {"times": pd.DataFrame(rows)}, summary
    )


def states_of(rows: list[Row]) -> dict[tuple[str, str], State]:
    """The state of each case under the profiler, and of cases without an unprofiled time."""
    profiled = {(row["case"], ""): State(row["state"], row["reason"]) for row in rows}
    missing = [row["case"] for row in rows if row["median_state"] == "not_measured"]
    return profiled | {(case, "unprofiled"): State("not_measured") for case in missing}


def summarize(rows: list[Row]) -> Row:
    """Values for the template: the compared cases, and the cases under each verdict."""
    compared = [row for row in rows if "verdict" in row]
    verdicts: dict[str, list[str]] = {name: [] for name in VERDICTS}
    for row in compared:
        verdicts[row["verdict"]].append(row["case"])
    profiled = [row for row in rows if "host_ms" in row]
    return {
        "compared": compared,
        "verdicts": verdicts,
        "host_only": [row["case"] for row in profiled if "median_ms" not in row],
        "host": [row["host_ms"] for row in profiled],
        "busy": [row["busy_ms"] for row in rows if "busy_ms" in row],
        "launch_bound": [row["case"] for row in rows if row.get("launch_bound")],
        "match_within": MATCH_WITHIN,
        "launch_bound_below": LAUNCH_BOUND_BELOW,
    }


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown."""
    rows = markdown.records(answer.rows["times"])
    busy = (
        "busy (operators' own time) ms"
        if answer.summary["words"]["kernel"] == "operator"
        else ("busy ms")
    )
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("unprofiled median ms", "median_ms", markdown.number, "median_state"),
        Column("profiled host ms", "host_ms", markdown.number, "host_state"),
        Column("overhead", "overhead", markdown.signed_percent),
        Column(busy, "busy_ms", markdown.number),
        Column("span ms", "span_ms", markdown.number),
        Column("busy / host", "busy_share", markdown.percent),
        Column("launch-bound", "launch_bound", lambda bound: "yes" if bound else "no"),
        Column("profiled and unprofiled", "verdict", VERDICTS.__getitem__),
    ]
    overhead = markdown.matrix(rows, "overhead", markdown.signed_percent)
    return {"times": markdown.markdown_table(rows, columns), "matrix": overhead}


if __name__ == "__main__":
    command.main("a", answer, tables)
