"""The first screen of a capture for a terminal, and what is said of it for programs.

docs/agents.md describes summary.json.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.capture_report.capture import Capture
from workflow_src.capture_report.chapter import candidates, said_first
from workflow_src.capture_report.ranked import unfound
from workflow_src.capture_report.screen import first_screen
from workflow_src.common.table_schema import own_columns
from workflow_src.paper.number import of, over, to
from workflow_src.paper.plain import SCHEMA, paragraphs, told
from workflow_src.paper.run import first

SHOWN = 3
"""Findings on the first screen of a terminal."""

UNSURE = {"unlike", "warm-up", "problem"}
"""Doubts that may change what is wrong, not just by how much."""


def first_said(capture: Capture, templates: Path) -> list[str]:
    """What is said first of a capture: its steps, the pace, findings with remedies, doubts."""
    said, large = said_first(capture), first(unfound(capture))
    found = capture.of_process(said["findings"])[:SHOWN]
    facts = said | {
        "findings": found.to_dict("records"),
        "large": large if large["ms"] > of(found["saves_ms"], "sum") else None,
        "candidates": candidates(capture),
    }
    return paragraphs(templates, "capture.text.j2", facts)


def summary(capture: Capture, templates: Path) -> dict[str, Any]:
    """What is said of a capture for programs."""
    screen, every, checks = first_screen(capture), capture.every, _own(capture, "certificate")
    doubted = bool((checks["verdict"] == "doubt").any())
    rows = {
        "processes": _processes(capture),
        "work": _own(capture, "step_work"),
        "findings": _findings(capture, {*screen["doubts"]}, doubted),
        "smaller": capture.numbers("smaller")[["process", *own_columns("capture/smaller")]],
        "checks": checks[checks["verdict"] != "ok"],
        "notes": _own(capture, "notes"),
    }
    return {
        "schema": SCHEMA,
        "kind": "capture",
        "name": capture.name,
        "recorded_by": f"{every['profiler']} {every['version']}".strip(),
        "card": told(every["card"]),
        "driver": told(every["driver"]),
        "verdict": screen["verdict"],
        "says": first_said(capture, templates),
        "steps": told(every["steps"]),
        "steps_by": told(every["steps_by"]),
        "doubts": screen["doubts"],
        **{name: told(each) for name, each in rows.items()},
    }


def _own(capture: Capture, table: str) -> pd.DataFrame:
    """A table with its own columns alone."""
    return capture.numbers(table)[[*own_columns(f"capture/{table}")]]


def _processes(capture: Capture) -> pd.DataFrame:
    """How a step of each process divides; with their ends, its time from step to step and that of
    the work it launched."""
    times, rows = capture.numbers("step_times"), capture.numbers("diagnoses")
    rows = rows[["process", *own_columns("capture/diagnoses")]]
    spread = over(times[times["step"] > 0], "process", "time_ms", "spread")
    busy = to(over(capture.numbers("steps"), "process", "busy_ns", "spread"), "ms")
    return rows.assign(
        time_ms=rows["process"].map(spread).astype(object),
        busy_ms=rows["process"].map(busy).astype(object),
    )


def _findings(capture: Capture, doubts: set[str], doubted: bool) -> pd.DataFrame:
    rows = capture.findings[["process", *own_columns("capture/findings"), "general"]]
    sure = "low" if doubts & UNSURE else "medium" if doubts or doubted else "high"
    return rows.assign(
        saves_share=to(rows["saves_ms"] / rows["step_ms"], "share"),
        confidence=rows["saves_ms"].notna().map({True: sure, False: "none"}).astype(object),
    )
