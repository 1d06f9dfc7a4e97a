"""Analyzes the accounting study: formulas next to measurements.

Formulas are evaluated here and not in measure, so that editing one makes no measurement stale.
"""

from collections import Counter

from workflow_src.common.case import Case
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.model.flops import forward_work, phase_flops
from workflow_src.model.memory_formulas import model_row, peak_bytes
from workflow_src.studies.models import case_of, identity
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row of formulas per size, then phases and components by size.

    The ceilings that older points measured, too, are left out.
    """
    cases = {size: case_of(point, size, point["precision"]) for size in point["sizes"]}
    made = [_model(case) for case in cases.values()]
    works = {
        row["size"]: sum(each["busy_ns"] for each in row["activities"]) / row["steps"] / NS_PER_MS
        for row in rows
        if "activities" in row
    }
    for row in rows:
        if row["measurement"] == "phase":
            busy_ms = works.get(row["size"]) if row["phase"] == "forward" else None
            made.append(_phase(cases[row["size"]], row) | {"busy_ms": busy_ms})
        if row["measurement"] == "component":
            made += _components(cases[row["size"]], row)
    return made


def _model(case: Case) -> Row:
    ok = {"status": "ok", "reason": ""}
    return {"measurement": "model"} | identity(case) | ok | model_row(case)


def _phase(case: Case, row: Row) -> Row:
    """A phase's FLOPs and predicted peak (MiB); if it ran, its measured peak.

    The measured peak excludes memory that was held before the model was built.
    """
    known = row | {"flops": phase_flops(case, row["phase"])}
    known["predicted_peak_mib"] = peak_bytes(case, row["phase"]) / MIB
    if row["status"] == "ok":
        known["peak_mib"] = row["peak_memory_mib"] - row["memory_before_mib"]
    return known


def _components(case: Case, row: Row) -> list[Row]:
    """A row per component of a forward pass: its work by formula, and its device time.

    Device time counts for the component that has the name of its innermost model range.
    """
    busy: Counter[str] = Counter()
    for activity in row.get("activities", []):
        busy[activity["range"]] += activity["busy_ns"]
    return [
        row
        | work._asdict()
        | {"flops_per_byte": work.flops / work.bytes}
        | {"busy_ms": ns / row["steps"] / NS_PER_MS if (ns := busy[work.component]) else None}
        for work in forward_work(case)
    ]
