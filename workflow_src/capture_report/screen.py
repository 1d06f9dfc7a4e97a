"""What is said first of a capture: the pace of its steps, what saves most, and what may be off.

Each function gives facts for the template's sentences, which name the verdict that chooses one.
"""

from dataclasses import replace
from typing import Any

import pandas as pd

from workflow_src.capture_report.capture import Capture, in_steps, most_first, share
from workflow_src.captures.capture import LOST_KERNELS, NO_KERNELS, UNREADABLE
from workflow_src.common.thresholds import (
    IDLES,
    LAUNCH_BOUND_BELOW_NS,
    RECORDED_BEYOND,
    UNNAMED,
)
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.diagnose import Pace
from workflow_src.diagnosis.idle import Before
from workflow_src.paper.number import NAN, Number, is_number, lift, of, to
from workflow_src.paper.run import first
from workflow_src.paper.written import Facts
from workflow_src.placing.step_rules import Rule

WAITS = 0.05
"""The share of a process's device time from which on its waiting for others is told."""

FEW_STEPS = 3
"""Of so few steps the mean may be that of first ones."""

SEEN = 0.02
"""The share of steps' device time from which on a part that some steps lack is named."""

LOOP = 50
"""So many launches are more than a layer's, and told where most of a step repeats them: on an H200
layers of two models have 16 and 44, turns of loops over tokens, time and samples 51 to 639."""

NEXT = 0.1
"""The share of a step's work from which on what takes most after the first is named."""

GAP_AT_LEAST, OF_IDLE = 0.1, 0.25
"""A gap of the host is named that takes these shares of a step and of its idle time; else launches
come one by one."""

NAMED = {Before.GAP: "gap", Before.NEXT_STEP: "next step", Before.WAIT: "wait"}
"""Gaps before one call."""


def first_screen(capture: Capture) -> Facts:
    """All that is said first; `verdict`: the finding, or why nothing is known of steps or savings;
    `pace`: what sets it; `row`: that of the process told of; `findings`: without launches, where
    these are the pace."""
    known, noted, findings = capture.diagnoses, capture.noted, capture.findings
    # Of the process of the first finding; else of that which waits least for others.
    its = known[known["process"].isin(findings["process"][~findings["general"]][:1])]
    its = its if len(its) else known.sort_values("collective_wait_ms", kind="stable")
    row = first(its)
    off = first(known[~known["understood"]])
    why, told = _unknown(capture), len(known) > 0
    paced = pace(capture, row) if told and not why else {}
    findings = findings[~findings["general"] | (paced.get("verdict") != "launches")]
    saved = {
        "not understood": is_number(off["recorded_ms"]),
        "finding": len(findings) > 0,
        "no finding": paced.get("verdict") == "device",
    }
    return {
        "verdict": why or next((name for name, holds in saved.items() if holds), "pace"),
        "pace": paced,
        "row": row,
        "finding": first(findings),
        "findings": findings,
        "off": off[["recorded_ms", "replayed_ms"]].map(whole_ms),
        "times": _times(capture),
        "lost": noted.get(NO_KERNELS) or noted.get(LOST_KERNELS, ""),
        "lost_some": LOST_KERNELS in noted,
        "cut": "cut off" in noted,
        **doubts(capture, paced),
    }


def whole_ms(cell: Any) -> Any:
    """Milliseconds as in a sentence: whole ones from 10 on, else two digits."""
    if not isinstance(cell, Number):
        return cell
    return replace(cell, digits=max(2, len(str(int(abs(cell.value))))))


def _unknown(capture: Capture) -> str:
    """The first reason why nothing is known of its steps, or ""."""
    noted, known = capture.noted, len(capture.diagnoses) > 0
    verdicts = {
        "unreadable": UNREADABLE in noted,
        "lost": NO_KERNELS in noted,
        "no work": not capture.total > 0,
        "no ranges": not capture.every["ranges"] > 0,
        "not named": "no step" in noted,
        "no steps": not capture.every["steps"] > 0,
        "on a CPU": not known and capture.on_cpu,
        "can't tell": not known,
    }
    return next((verdict for verdict, holds in verdicts.items() if holds), "")


def pace(capture: Capture, row: pd.Series) -> Facts:
    """What sets the pace of a process, by its row of `diagnoses`, and where the device idles or
    what it works on."""
    step = row["step_ms"] if is_number(row["step_ms"]) else row["recorded_ms"]
    idles = row["device_idle_ms"] > IDLES * step or row["unnamed_ms"] > UNNAMED * step
    causes, work = (
        rows[rows["process"] == row["process"]]
        for rows in map(capture.numbers, ("idle_causes", "step_work"))
    )
    paced = {
        "call": "",
        "next": "",
        "who": row["pace"] if row["pace"] in [*Pace] else "",
        "process": row["process"] if capture.several else "",
        "step": whole_ms(step),
        "idle": whole_ms(row["device_idle_ms"]),
        "share": share(row["device_idle_ms"], step),
        "device": whole_ms(row["device_ms"]),
        "launches": row["launches"],
        "repeated": row["repeated"],
        "repeats": row["repeats"] if row["repeated"] >= LOOP else NAN,
        "launching": whole_ms(row["launching_ms"]),
        **dict(zip(("host_us", "device_us"), per_launch(row), strict=True)),
    }
    return paced | (_idle(row, causes) if idles else _most_work(work))


def per_launch(row: pd.Series) -> tuple[Any, ...]:
    """What a launch of a step takes the host, and its work the device, in us."""
    host = row["host_alone_ms"] if is_number(row["host_alone_ms"]) else row["host_ms"]
    each = pd.Series([host, row["device_ms"]], dtype=object) / row["launches"]
    return tuple(to(each, "us").map(whole_ms))


def _times(capture: Capture) -> Facts:
    """How long steps take, and how long their ranges are open: of those of which one is drawn."""
    rows, known = capture["steps"], capture.diagnoses
    busy = rows.groupby(["process", "path"])["busy_ns"].transform("sum")
    rows = rows[busy == busy.max()]
    wall = to(lift(rows["wall_ns"].sort_values(kind="stable")), "ms")
    mean = first(known[known["process"].isin(rows["process"])])
    ends = {"least": wall[:1], "drawn": wall[(len(wall) - 1) // 2 :][:1], "most": wall[-1:]}
    told = {name: mean[name] for name in ("recorded_ms", "steps")}
    return told | {name: of(cells) for name, cells in ends.items()}


def _idle(row: pd.Series, causes: pd.DataFrame) -> Facts:
    """Where a device idles longest: at one call, if that is much of a step, else launch by launch.
    Launches are the cause where kernels are short and launches most of what the host adds."""
    if causes.empty:
        return {"verdict": "no gap"}
    at_a_call = causes["before"].isin(NAMED)
    idle_ms = of(causes["idle_ms"], "sum")
    least_ms = max(GAP_AT_LEAST * float(row["recorded_ms"]), OF_IDLE * float(idle_ms))
    large = at_a_call & (causes["idle_ms"].astype(float) >= least_ms)
    place = next(each for each in (causes[large], causes[~at_a_call], causes) if len(each)).iloc[0]
    # As recorded, as a share of the idle time of the step that is told.
    gap = place["idle_ms"] * (row["device_idle_ms"] / idle_ms)
    said = {"gap": whole_ms(gap), "often": _often(place["times"])}
    said |= {"call": place["call"], "path": place["path"], "next": place["next_path"]}
    if place["before"] != Before.LAUNCHES:
        return said | {"verdict": NAMED.get(place["before"], "queued")}
    short = row["device_ms"] * NS_PER_MS < row["launches"] * LAUNCH_BOUND_BELOW_NS
    if not short or row["pace"] != Pace.HOST or row["launching_ms"] < row["unnamed_ms"]:
        return said | {"verdict": "between launches"}
    return said | {"verdict": "launches"}


def _often(times: Number) -> Any:
    """How many times a step, or in how many steps; "" for once."""
    if round(times.value, 1) == 1:
        return ""
    some = in_steps(times)
    if some is not times:
        return some
    return (times if times.value == round(times.value) else whole_ms(times)), " times a step"


def _most_work(work: pd.DataFrame) -> Facts:
    rows = most_first(work, "device_ms")
    rows = rows.assign(ms=rows["device_ms"].map(whole_ms))
    most = first(rows)
    rows = rows[(rows["family"] != most["family"]) & (rows["share"] >= NEXT)]
    then = rows.drop_duplicates("family")[:2].to_dict("records")
    told = {"gap": most["ms"], "family": most["family"], "path": most["path"]}
    return {"verdict": "device", "then": then} | told


def doubts(capture: Capture, paced: Facts) -> Facts:
    """What may be off, for the last sentence."""
    known, paths = capture.diagnoses, capture["steps"]["path"]
    told, plain = len(known) > 0, capture.plain
    few = first(known[known["steps"] <= FEW_STEPS])
    late = first(most_first(known, "collective_wait_ms"))
    unlike = known[known["plain"] & (known["recorded_ms"] > RECORDED_BEYOND * known["step_ms"])]
    why, checks = capture["diagnoses"]["problem"], capture["certificate"]["verdict"] == "doubt"
    rules = {*capture["summary"]["steps_by"]}
    holds = {
        "profiled": told and not plain and paced.get("verdict", "device") != "device",
        "stacks": paced.get("verdict") == "between launches",
        "unlike": len(unlike) > 0,
        "waiting": late["collective_wait_ms"] >= WAITS * late["device_ms"],
        "few": is_number(few["steps"]),
        "unlike steps": bool(lacking := in_some(capture)),
        "warm-up": paths.str.contains(r"(?i)warm.?up").any(),
        "updates": Rule.UPDATES in rules,
        "turns": Rule.TURNS in rules,
        "whole": Rule.WHOLE in rules,
        "problem": told and (why != "").any(),
        "checks": told and checks.any(),
    }
    return {
        "doubts": [name for name, doubted in holds.items() if doubted],
        "unlike": first(unlike)[["recorded_ms", "step_ms"]].map(whole_ms),
        "few": few["steps"],
        "lacking": lacking,
        "waiting": late[["process", "collective_wait_ms", "device_ms"]].map(whole_ms),
        "checks": Number(float(checks.sum()), "count", frozenset(checks.index[checks]), "doubt"),
        "why": next((text for text in why if text), ""),
    }


def in_some(capture: Capture) -> dict[str, str]:
    """The part of steps with most device time, of those that some steps lack and that come to SEEN
    of it: its `path`, and how many `have` it `of` all; {} without one. Numbers in names don't
    count."""
    paths, times = capture["paths"], ["instances_per_step", "busy_ms_per_step"]
    if not {*times} <= {*paths}:
        return {}
    is_step = paths["path"].isin(capture["steps"]["path"])
    outer = paths["path"].str.replace(r"(^|/)[^/]*$", "", regex=True)
    parts = paths[outer.isin(paths["path"][is_step])]
    named = parts["path"].str.replace(r"\d+", "*", regex=True).rename("named")
    found = parts.groupby(["process", "steps", named])[times].sum().reset_index()
    there = (found["instances_per_step"] * found["steps"]).round()
    seen = found["busy_ms_per_step"] >= SEEN * paths.loc[is_step, "busy_ms_per_step"].sum()
    found = found.assign(there=there)[seen & (there < found["steps"])]
    if found.empty:
        return {}
    most = found.sort_values("busy_ms_per_step").iloc[-1]
    return {"path": most["named"], "have": f"{most['there']:.0f}", "of": f"{most['steps']:.0f}"}
