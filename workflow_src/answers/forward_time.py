"""(a) How long does a forward pass take, and do the profiler and Python's own timer agree?"""

from collections.abc import Mapping

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import (
    api_time,
    command,
    comparable,
    evidence,
    forward_example,
    hosts,
    launch_bound,
    launch_queue,
    step_ledger,
)
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.comparable import MATCH_WITHIN
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.forward_summary import summarize
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TITLE = "How long does the forward pass take, and does that match the unprofiled timing?"
PHASE = "forward"

TIMES = ("host_ms", "busy_ms", "span_ms")
BETWEEN_PROCESSES = ("fastest_ms", "slowest_ms")

VERDICTS = {
    "match": "match",
    "idle": "differ: the device is idle for much of the unprofiled time",
    "profiler_overhead": "differ: profiler overhead",
    "not_waited_for": "differ: the range closed before the device was done",
    "faster_profiled": "differ: faster under the profiler",
    "slower_operators": "differ: operators took longer than the whole unprofiled pass",
    "unexplained": "differ: no device activity to tell why",
}

DERIVED = {
    "overhead": ("1", ("host_ms", "median_ms")),
    "busy_share": ("1", ("busy_ms", "host_ms")),
    "working_share": ("1", ("busy_ms", "median_ms")),
    "often_idle": ("", ("working_share",)),
    "verdict": ("", ("overhead", "working_share")),
    "process_spread": ("1", BETWEEN_PROCESSES),
}
"""The unit of each value computed from others of its case, and those others."""


LAUNCH_BOUND = (
    Column("replayed median ms", "replayed_median_ms", markdown.number, "replay_state"),
    Column("launch-bound", "launch_bound_share", markdown.percent, "replay_state"),
)


def verdict(host: float, busy: float, span: float, median: float) -> str:
    """Whether a profiled host time matches the unprofiled median (all in ms): a key of VERDICTS.

    The device's work is held against the unprofiled time, because the profiler's overhead is in
    the profiled time: against that, the overhead itself would look like an idle device.
    """
    if abs(host / median - 1) <= MATCH_WITHIN:
        return "match"
    if host < median:
        return "not_waited_for" if span > host else "faster_profiled"
    if not busy > 0:
        return "unexplained"
    return "idle" if busy < LAUNCH_BOUND_BELOW * median else "profiler_overhead"


def measure(
    case: Row,
    timings: pd.DataFrame,
    ranges: pd.DataFrame,
    captures: pd.DataFrame,
    ledger: pd.DataFrame,
    launches: pd.DataFrame,
    load: Row,
) -> Row:
    """One case's times in ms (medians over steps), their ratios and the verdict on them.

    busy_share is the device's share of the profiled time, working_share that of the unprofiled;
    what `launch_bound`, `step_ledger` and `launch_queue` find is added. `load` is as for
    `comparable.doubt`, whose finding is the row's "doubt".
    """
    name = case["case"]
    steps = evidence.of(ranges, name, PHASE)
    steps = steps[steps["path"] == PHASE]
    profiled = evidence.profile_state(timings, captures, steps, name, PHASE)
    row: Row = case | {"state": profiled.word, "reason": profiled.reason}
    row |= {"host_state": profiled.word} | _unprofiled(timings, name) | load
    if not steps.empty and profiled.word in ("ok", "no_activity"):
        row |= {"host_ms": float(steps["host_ms"].median()), "host_state": "ok"}
    if profiled.word == "ok":
        row |= {time: float(steps[time].median()) for time in TIMES}
        row["busy_share"] = row["busy_ms"] / row["host_ms"]
    row["doubt"] = comparable.doubt(row)
    row |= _compared(row)
    timed, kept = evidence.of(timings, name, PHASE), evidence.of(ledger, name, PHASE)
    row |= launch_bound.measure(row, timed, kept)
    row |= step_ledger.measure(row["device"], kept)
    return row | launch_queue.measure(row["device"], evidence.of(launches, name, PHASE))


def _unprofiled(timings: pd.DataFrame, name: str) -> Row:
    """What the benchmark says: the median, and its spread if several processes measured."""
    state = evidence.benchmark_state(timings, name, PHASE)
    row: Row = {"median_state": state.word}
    if state.word != "ok":
        return row
    timed = markdown.records(evidence.of(timings, name, PHASE))[0]
    row |= {key: float(timed[key]) for key in ("median_ms", "p20_ms")}
    if timed.get("processes", 1) > 1:
        row |= {key: float(timed[key]) for key in ("processes", *BETWEEN_PROCESSES)}
        row["process_spread"] = row["slowest_ms"] / row["fastest_ms"] - 1
    return row


def _compared(row: Row) -> Row:
    """What `comparable.compared` finds, and the verdict on it."""
    found = comparable.compared(row)
    if "overhead" in found:
        busy, span = row.get("busy_ms", 0.0), row.get("span_ms", 0.0)
        found["verdict"] = verdict(row["host_ms"], busy, span, row["median_ms"])
        if row["doubt"] == comparable.OVER and found["verdict"] == "profiler_overhead":
            found["verdict"] = "slower_operators"
    return found


def facts_of(
    row: Row,
    timings: pd.DataFrame,
    ranges: pd.DataFrame,
    ledger: pd.DataFrame,
    launches: pd.DataFrame,
) -> list[Fact]:
    """The facts of one measured case."""
    case = row["case"]
    steps = evidence.of(ranges, case, PHASE)
    bearing = evidence.row_numbers(steps[steps["path"] == PHASE])
    found = [Fact(case, time, row[time], "ms", "ranges", bearing) for time in TIMES if time in row]
    timed = evidence.row_numbers(evidence.of(timings, case, PHASE))
    units = {"median_ms": "ms", "processes": ""} | dict.fromkeys(BETWEEN_PROCESSES, "ms")
    found += [
        Fact(case, name, row[name], unit, "timings", timed)
        for name, unit in units.items()
        if name in row
    ]
    found += [
        Fact(case, name, row[name], unit, derived_from=tuple(s for s in sources if s in row))
        for name, (unit, sources) in DERIVED.items()
        if name in row
    ]
    kept = evidence.row_numbers(evidence.of(ledger, case, PHASE))
    found += launch_bound.facts_of(row, timed, kept) + step_ledger.facts_of(row, kept)
    found += comparable.facts_of(row)
    return found + launch_queue.facts_of(
        row, evidence.row_numbers(evidence.of(launches, case, PHASE))
    )


def answer(
    timings: pd.DataFrame,
    ranges: pd.DataFrame,
    captures: pd.DataFrame,
    ledger: pd.DataFrame,
    launches: pd.DataFrame,
    api_calls: pd.DataFrame,
    environments: pd.DataFrame,
    example: Row | None = None,
) -> Answer:
    """Answer (a) from timings.csv, ranges.csv, captures.csv and, if there, the optional tables.

    `example` is the case to work through; see example_case.
    """
    cases = evidence.cases_of(timings, captures, ranges)
    rows = [
        measure(
            case,
            timings,
            ranges,
            captures,
            ledger,
            launches,
            comparable.load_of(environments, case["case"]),
        )
        for case in cases
    ]
    facts = [fact for row in rows for fact in facts_of(row, timings, ranges, ledger, launches)]
    timed = [row["case"] for row in rows if "median_ms" in row]
    measured_on = hosts.hosts_of(timed, environments)
    facts += hosts.facts_of(measured_on)
    limits = {"match_within": MATCH_WITHIN, "working_limit": LAUNCH_BOUND_BELOW}
    summary = summarize(rows, evidence.words(cases), VERDICTS, example) | limits
    summary |= {"api": api_time.summarize(api_calls), "hosts": hosts.summarize(measured_on)}
    summary["launch_bound"]["apart"] = hosts.apart(
        [row["case"] for row in rows if "launch_bound_share" in row],
        [row["case"] for row in rows if "launch_bound_estimate" in row],
        measured_on,
    )
    frames = {"times": pd.DataFrame(rows)}
    return evidence.answered("a", TITLE, cases, states_of(rows), captures, facts, frames, summary)


def states_of(rows: list[Row]) -> dict[tuple[str, str], State]:
    """The state of each case under the profiler, and of cases without an unprofiled time."""
    profiled = {(row["case"], ""): State(row["state"], row["reason"]) for row in rows}
    missing = [row["case"] for row in rows if row["median_state"] == "not_measured"]
    return profiled | {(case, "unprofiled"): State("not_measured") for case in missing}


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


if __name__ == "__main__":
    command.main("a", answer, tables)
