"""The report's opening: what ran, timings, conservation of time, precision."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import comparable
from workflow_src.answers.evidence import (
    OUTSIDE_LIMIT,
    Row,
    axes,
    benchmark_state,
    holds_no_activity,
    of,
    profile_state,
    whole_steps,
    words,
)
from workflow_src.common.case import PHASES, PRECISIONS
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render.markdown import (
    PHASE_WORDS,
    STATE_WORDS,
    Column,
    case_columns,
    fine_percent,
    markdown_table,
    number,
    percent,
    plain,
    records,
    signed_percent,
    whole,
)

BETWEEN_PROCESSES = (
    Column("processes", "processes", plain),
    Column("fastest process ms", "fastest_ms", number),
    Column("slowest process ms", "slowest_ms", number),
    Column("cv within a process", "within_cv", percent),
)
"""Columns of timings that say something only if several processes measured."""


def headline(cases: Sequence[Row], captures: pd.DataFrame, environments: pd.DataFrame) -> Row:
    """What the report's first lines say: devices, profilers, cases without a capture."""
    captured = set(captures["case"])
    names = [case["case"] for case in cases]
    gpus = environments["gpu"] if "gpu" in environments else pd.Series(dtype=str)
    cpus = environments["cpu"] if "cpu" in environments else pd.Series(dtype=str)
    return {
        "cases": names,
        "phases": PHASES,
        "on_cpu": bool(cases) and {case["device"] for case in cases} == {"cpu"},
        "profilers": sorted({str(name) for name in captures["profiler"]} - {""}),
        "gpus": sorted({str(gpu) for gpu in gpus} - {""}),
        "cpus": sorted({str(cpu) for cpu in cpus} - {""}),
        "uncaptured": [name for name in names if name not in captured],
        "empty": [name for name in names if holds_no_activity(captures, name)],
        "words": words(cases),
    }


def status_table(cases: Sequence[Row], timings: pd.DataFrame, captures: pd.DataFrame) -> Markup:
    """The unprofiled status of each phase of each case, and whether the case was captured."""
    rows = []
    for case in cases:
        states = {phase: benchmark_state(timings, case["case"], phase) for phase in PHASES}
        statuses = {p: "ok" if s.word == "ok" else STATE_WORDS[s.word] for p, s in states.items()}
        reasons = dict.fromkeys(state.reason for state in states.values() if state.reason)
        captured = "no" if of(captures, case["case"]).empty else "yes"
        if holds_no_activity(captures, case["case"]):
            captured = "holds no device activity"
        rows.append(case | statuses | {"captured": captured, "reason": "; ".join(reasons)})
    phases = [Column(PHASE_WORDS[phase], phase) for phase in PHASES]
    return markdown_table(
        rows, [*case_columns(axes(cases)), *phases, Column("capture", "captured")]
    )


def timing_rows(
    cases: Sequence[Row],
    timings: pd.DataFrame,
    ranges: pd.DataFrame,
    captures: pd.DataFrame,
    environments: pd.DataFrame,
) -> list[Row]:
    """Per case and phase: unprofiled and profiled medians (ms) and the overhead between them.

    Without what compares the two where there is a "doubt"; see `comparable.doubt`.
    """
    rows = []
    for case in cases:
        load = comparable.load_of(environments, case["case"])
        for phase in PHASES:
            steps = whole_steps(ranges, case["case"], phase)
            profiled = profile_state(timings, captures, steps, case["case"], phase)
            benchmark = benchmark_state(timings, case["case"], phase)
            row: Row = case | load | {"phase": phase, "reason": benchmark.reason}
            row |= {"state": benchmark.word, "profiled_state": profiled.word}
            if benchmark.word == "ok":
                row |= records(of(timings, case["case"], phase))[0]
            if not steps.empty and profiled.word in ("ok", "no_activity"):
                row["host_ms"] = float(steps["host_ms"].median())
            if not steps.empty and profiled.word == "ok":
                row["busy_ms"] = float(steps["busy_ms"].median())
                row["busy_share"] = row["busy_ms"] / row["host_ms"]
            row["doubt"] = comparable.doubt(row)
            rows.append(row | comparable.compared(row))
    return rows


def timing_table(rows: Sequence[Row]) -> Markup:
    """The rows of `timing_rows` as Markdown."""
    profiled = "profiled_state"
    rows = [dict(row) for row in rows]
    none = comparable.cell_state(rows, state=profiled)
    no_share = comparable.cell_state(rows, comparable.DOUBTS, profiled)
    columns = [
        *case_columns(axes(rows)),
        Column("phase", "phase", PHASE_WORDS.__getitem__),
        Column("unprofiled median ms", "median_ms", number),
        Column("20th pct ms", "p20_ms", number),
        Column("80th pct ms", "p80_ms", number),
        Column("samples", "samples", plain),
        *(BETWEEN_PROCESSES if any(row.get("processes", 1) > 1 for row in rows) else ()),
        Column("profiled median ms", "host_ms", number, profiled),
        Column("overhead", "overhead", signed_percent, none),
        Column("busy / unprofiled", "working_share", percent, no_share),
        Column("busy / profiled", "busy_share", percent, profiled),
        Column("often idle", "often_idle", lambda b: "yes" if b else "no", none),
        Column("peak memory MiB", "peak_memory_mib", number),
    ]
    return markdown_table(rows, columns)


def idle_counts(rows: Sequence[Row]) -> Row:
    """In how many cases the device is often idle, by phase and precision; see `timing_rows`.

    Times of these depend on the host as much as on the device.
    """
    known = [row for row in rows if "often_idle" in row]
    precisions = sorted({str(row["precision"]) for row in known}, key=PRECISIONS.index)
    phases = []
    for phase in ("forward", "train_step"):
        mine = [row for row in known if row["phase"] == phase]
        idle = [str(row["precision"]) for row in mine if row["often_idle"]]
        counts = {name: idle.count(name) for name in precisions if idle.count(name)}
        phases.append({"phase": phase, "cases": len(mine), "idle": len(idle), "counts": counts})
    return {
        "phases": [each for each in phases if each["cases"]],
        "precisions": precisions,
        "limit": LAUNCH_BOUND_BELOW,
    }


def conservation(captures: pd.DataFrame, kernels: pd.DataFrame) -> Row:
    """Whether all device time is accounted for, and what lies outside all ranges."""
    attributed, outside = int(captures["attributed_ns"].sum()), int(captures["outside_ns"].sum())
    total = int(captures["total_ns"].sum())
    sums = captures["attributed_ns"] + captures["outside_ns"] == captures["total_ns"]
    loose = kernels[kernels["phase"] == ""]
    largest = loose.groupby("short_name")["busy_ns"].sum().sort_values(ascending=False)
    return {
        "captures": len(captures),
        "total_ns": total,
        "attributed_ns": attributed,
        "outside_ns": outside,
        "outside_share": outside / total if total else 0.0,
        "unbalanced": [str(case) for case in captures.loc[~sums, "case"]],
        "largest_outside": [str(name) for name in largest[largest > 0].index],
        "worst": float(captures["outside_share"].max()) if total else 0.0,
        "limit": OUTSIDE_LIMIT,
        "over": [str(c) for c in captures.loc[captures["outside_share"] > OUTSIDE_LIMIT, "case"]],
        "coverage": [float(share) for share in captures["family_coverage"].dropna()],
    } | counted_by_nsys(captures, kernels)


def counted_by_nsys(captures: pd.DataFrame, kernels: pd.DataFrame) -> Row:
    """How many captures `nsys stats` totaled kernels in, and where its total differs from ours."""
    counted = captures[captures["stats_total_ns"].notna()]
    ours = kernels[kernels["kind"] == "kernel"].groupby("case")["busy_ns"].sum()
    disagree = counted["case"].map(ours).fillna(0) != counted["stats_total_ns"]
    return {
        "counted": len(counted),
        "disagree": [str(case) for case in counted.loc[disagree, "case"]],
    }


def conservation_table(captures: pd.DataFrame) -> Markup:
    """Per capture: device time attributed, outside all ranges and total in ns, and coverage."""
    rows = records(captures)
    columns = [
        *case_columns(axes(rows)),
        Column("attributed ns", "attributed_ns", whole),
        Column("outside ns", "outside_ns", whole),
        Column("total ns", "total_ns", whole),
        Column("outside", "outside_share", fine_percent),
        Column("family known", "family_coverage", percent),
    ]
    return markdown_table(rows, columns)


def precision_rows(cases: Sequence[Row], kernels: pd.DataFrame) -> list[Row]:
    """Per case: the share of gemm time in each precision, as kernel names indicate it.

    `matches` is False if any of it ran in a precision other than the one requested, and None if
    the names don't cover all of the time and show no other precision.
    """
    rows = []
    for case in cases:
        mine = of(kernels, case["case"])
        gemm = mine[mine["family"] == "gemm"]
        total = gemm["busy_ns"].sum()
        if not total > 0:
            continue
        ran = gemm.groupby("precision_ran")["busy_ns"].sum().sort_values(ascending=False) / total
        shares = {str(name): float(share) for name, share in ran.items()}
        told = set(shares) - {""}
        same: bool | None = told <= {case["precision"]}
        if same and "" in shares:
            same = None
        parts = [f"{name or 'name does not tell'} {percent(s)}" for name, s in shares.items()]
        rows.append(
            case
            | {"asked": case["precision"], "shares": shares, "ran": ", ".join(parts)}
            | {"matches": same, "told": bool(told), "state": "ok"}
        )
    return rows


def precision_table(rows: Sequence[Row]) -> Markup:
    """The cases with gemm time in a precision other than the one requested, as Markdown."""
    columns = [
        *case_columns([axis for axis in axes(rows) if axis != "precision"]),
        Column("precision asked for", "asked"),
        Column("gemm time by the precision that ran", "ran"),
    ]
    return markdown_table([row for row in rows if row["matches"] is False], columns)
