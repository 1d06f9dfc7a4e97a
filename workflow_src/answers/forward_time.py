"""(a) How long does a forward pass take, and do the profiler and Python's own timer agree?"""

import pandas as pd

from workflow_src.answers import (
    api_time,
    command,
    comparable,
    evidence,
    hosts,
    launch_bound,
    launch_queue,
    step_ledger,
)
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.comparable import MATCH_WITHIN
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.forward_summary import summarize
from workflow_src.answers.forward_tables import VERDICTS, tables
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render import markdown

TITLE = "How long does the forward pass take, and does that match the unprofiled timing?"
PHASE = "forward"

TIMES = ("host_ms", "busy_ms", "span_ms")
BETWEEN_PROCESSES = ("fastest_ms", "slowest_ms")

DERIVED = {
    "overhead": ("1", ("host_ms", "median_ms")),
    "busy_share": ("1", ("busy_ms", "host_ms")),
    "working_share": ("1", ("busy_ms", "median_ms")),
    "often_idle": ("", ("working_share",)),
    "verdict": ("", ("overhead", "working_share")),
    "process_spread": ("1", BETWEEN_PROCESSES),
}
"""The unit of each value computed from others of its case, and those others."""


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
    steps = evidence.whole_steps(ranges, name, PHASE)
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
    row |= {key: float(timed[key]) for key in ("median_ms", "p20_ms", "p80_ms")}
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


if __name__ == "__main__":
    command.main("a", answer, tables)
