"""Whether a phase's times without and with the profiler can be compared.

On a CPU whatever else runs takes time from the benchmark and from the capture, and not the same
from both. What compares the two is then no finding, and some of it is impossible.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from workflow_src.answers import evidence, wording
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row
from workflow_src.common.case import PHASES
from workflow_src.common.thresholds import BUSY_LOAD, LAUNCH_BOUND_BELOW

LOAD = ["load_average_before", "cpu_cores"]
"""The columns of environments.csv that tell whether other work kept a CPU busy."""

MATCH_WITHIN = 0.10
"""Profiled and unprofiled times match if they differ by at most this share."""

SPREAD_BEYOND = 2.0
"""Samples whose 80th percentile is over this many times their 20th say little of a step's time."""

BUSY = "busy"
SPREAD = "spread"
SHORTER = "shorter"
BEYOND = "beyond"
OVER = "over"
WITHHELD = (BUSY, SPREAD, SHORTER, BEYOND)
"""Doubts for which nothing is said that compares the two times; of OVER, no share of time is."""

DOUBTS = (*WITHHELD, OVER)

MARK = "\N{REFERENCE MARK}"
"""Marks times of which a comparison is withheld; daggers mark hosts."""

STATE = "not_comparable"
"""The state of a table's cell without a value for that reason."""

AGAIN = "snakemake --cores 1 report.md -R "
FILES = "results/{{tag}}/benchmark/{case}.json results/{{tag}}/capture/{case}.kineto.json.gz"
RULES = "benchmark capture"
"""How to measure again: one case, captured by torch as on a CPU, or all."""


def load_of(environments: pd.DataFrame, case: str) -> Row:
    """The load and the cores of a case's machine; empty if it wasn't busy or the table has none."""
    mine = evidence.of(environments, case)
    if not set(LOAD) <= set(mine):
        return {}
    known = mine[LOAD].apply(pd.to_numeric, errors="coerce")
    busy = known[known[LOAD[0]] > BUSY_LOAD * known[LOAD[1]]]
    rows = evidence.row_numbers(busy)
    found = [{"load": float(load), "load_cores": int(cores)} for load, cores in busy.to_numpy()]
    return found[0] | {"load_evidence": rows} if found else {}


def busiest(environments: pd.DataFrame) -> str:
    """The highest load of all cases as `load_text` words it; "" if no machine was busy."""
    loads = (load_of(environments, str(case)) for case in environments.get("case", ()))
    return load_text(load for load in loads if load)


def doubt(row: Row) -> str:
    """Why a phase's two times can't be compared, one of DOUBTS; "" if they can or aren't there.

    `row` has the case's device, what load_of found and, where known, median_ms, p20_ms and p80_ms
    of the benchmark, host_ms and busy_ms of the capture. OVER: operators alone take longer under
    the profiler than all of the phase without it. A GPU works as fast whatever else its host does.
    """
    if row["device"] != "cpu" or not {"median_ms", "host_ms"} <= row.keys():
        return ""
    if "load" in row:
        return BUSY
    if row["p80_ms"] > SPREAD_BEYOND * row["p20_ms"]:
        return SPREAD
    if row["host_ms"] < min((1 - MATCH_WITHIN) * row["median_ms"], row["p20_ms"]):
        return SHORTER
    return OVER if row.get("busy_ms", 0.0) > row["median_ms"] else ""


def doubted(
    case: Row, timings: pd.DataFrame, ranges: pd.DataFrame, environments: pd.DataFrame
) -> bool:
    """Whether there is a doubt about some phase of a case."""
    name = case["case"]
    about = {"device": case["device"]} | load_of(environments, name)
    for phase in PHASES:
        timed = evidence.of(timings, name, phase)
        steps = evidence.whole_steps(ranges, name, phase)
        times = {key: float(timed[key].median()) for key in ("median_ms", "p20_ms", "p80_ms")}
        times |= {key: float(steps[key].median()) for key in ("host_ms", "busy_ms")}
        if not timed.empty and not steps.empty and doubt(about | times):
            return True
    return False


def withheld(row: Row) -> bool:
    """Whether nothing is said of a row that compares its two times."""
    return row.get("doubt") in WITHHELD


def compared(row: Row) -> Row:
    """The overhead of a row with a doubt or without, and the device's share of unprofiled time.

    Only what can be said; the share not of the profiled time, which the profiler's cost inflates.
    """
    median = row.get("median_ms", 0)
    if withheld(row) or not median > 0:
        return {}
    found: Row = {}
    if "busy_ms" in row:
        share = row["busy_ms"] / median
        found["often_idle"] = share < LAUNCH_BOUND_BELOW
        found |= {} if row["doubt"] == OVER else {"working_share": share}
    if "host_ms" in row:
        found["overhead"] = row["host_ms"] / median - 1
    return found


def facts_of(row: Row) -> list[Fact]:
    """The load of a case that was measured on a busy CPU."""
    if row.get("doubt") != BUSY:
        return []
    names = {"load_average": row["load"], "cpu_cores": row["load_cores"]}
    rows = row["load_evidence"]
    return [Fact(row["case"], name, n, "", "environments", rows) for name, n in names.items()]


def summarize(rows: Sequence[Row]) -> Row:
    """What the text says of the doubtful among some cases with their names in words.

    "listed" and "counts" are by doubt, "again" is how to measure the first of them again, or
    "all", as on a GPU, where either profiler may have made a capture.
    """
    groups = {why: [row for row in rows if row.get("doubt") == why] for why in DOUBTS}
    doubtful = [row for mine in groups.values() for row in mine]
    load = load_text(groups[BUSY])
    none = sum(map(withheld, rows))
    every = 1 < len(doubtful) == len(rows) or any(row["device"] != "cpu" for row in doubtful)
    return {
        "counts": {why: len(mine) for why, mine in groups.items()},
        "listed": {why: _listed(mine) for why, mine in groups.items()},
        "load": load,
        "spread_beyond": SPREAD_BEYOND,
        "none": none,
        "short": short(none, len(rows), load),
        "all": every,
        "again": AGAIN + (RULES if every else FILES.format(**doubtful[0])) if doubtful else "",
    }


def short(none: int, cases: int, load: str) -> str:
    """What is said of two times in one line; "" where they can be compared in all cases."""
    if not none:
        return ""
    if none == cases:
        can = f"can be compared in none of {cases} cases" if cases > 1 else "can't be compared"
    else:
        can = f"can't be compared {wording.in_cases(none, cases)}"
    told = f" ({load})" if load else ""
    return f"{can}, most likely because other work kept the machine busy{told}"


def _listed(rows: Sequence[Row]) -> str:
    """The cases by name, or how many there are."""
    return wording.listed(rows) if len(rows) <= wording.SHOWN else f"{len(rows)} cases"


def load_text(rows: Iterable[Row]) -> str:
    """The highest load per core: "load 9.0 on 2 cores", with "up to" if there are others."""
    loads = {(row["load"], row["load_cores"]) for row in rows}
    if not loads:
        return ""
    load, cores = max(loads, key=lambda each: each[0] / each[1])
    return f"load {'up to ' if len(loads) > 1 else ''}{load:.1f} on {cores} cores"


def cell_state(
    rows: Sequence[dict[str, Any]], doubts: Sequence[str] = WITHHELD, state: str = "state"
) -> str:
    """The column of rows that says why a value is missing, given the usual one.

    It is made, in place, if some row has one of the doubts.
    """
    if not any(row.get("doubt") in doubts for row in rows):
        return state
    name = f"{state} or {doubts[-1]}"
    for row in rows:
        row[name] = STATE if row.get("doubt") in doubts else row[state]
    return name
