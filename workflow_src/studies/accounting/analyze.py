"""Analyzes the accounting study: formulas next to measurements.

Formulas are evaluated here and not in measure, so that editing one makes no measurement stale.
"""

from workflow_src.common.case import Case
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.model.flops import phase_flops
from workflow_src.model.memory_formulas import model_row, peak_bytes
from workflow_src.studies.models import case_of, identity
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row of formulas per size, then the measured phases, of forward with its device time."""
    cases = {size: case_of(point, size, point["precision"]) for size in point["sizes"]}
    works = {
        row["size"]: sum(each["busy_ns"] for each in row["activities"]) / row["steps"] / NS_PER_MS
        for row in rows
        if "activities" in row
    }
    made = [_model(case) for case in cases.values()]
    for row in (row for row in rows if row["measurement"] == "phase"):
        busy_ms = works.get(row["size"]) if row["phase"] == "forward" else None
        made.append(_phase(cases[row["size"]], row) | {"busy_ms": busy_ms})
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
