"""Analyzes the accounting study: formulas next to measurements.

Formulas are evaluated here and not in measure, so that editing one makes no measurement stale.
"""

from collections import Counter

from workflow_src.common.case import Case
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.model.flops import phase_flops
from workflow_src.model.memory_formulas import model_row, peak_bytes
from workflow_src.studies.accounting.work import component_work
from workflow_src.studies.models import case_of
from workflow_src.studies.rows import busy_ns
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row of formulas per size, then phases and components by size.

    The ceilings that older points measured, too, are left out.
    """
    made = [_model(_case(point, size)) for size in point["sizes"]]
    busy = {row["size"]: _busy_ms(row) for row in rows if row["measurement"] == "component"}
    for row in rows:
        if row["measurement"] == "phase":
            known = {"busy_ms": busy.get(row["size"])} if row["phase"] == "forward" else {}
            made.append(_phase(_case(point, row["size"]), row) | known)
        if row["measurement"] == "component":
            made += _components(_case(point, row["size"]), row)
    return made


def _case(point: Point, size: str) -> Case:
    return case_of(point, size, point["precision"])


def _busy_ms(row: Row) -> float | None:
    """The device's busy time in one of the profiled forward passes, whichever range it is in."""
    if row["status"] != "ok" or not row.get("activities"):
        return None
    return float(busy_ns(row["activities"]) / row["steps"] / NS_PER_MS)


def _model(case: Case) -> Row:
    about = {name: getattr(case, name) for name in ("size", "context", "batch", "precision")}
    return {"measurement": "model"} | about | {"status": "ok", "reason": ""} | model_row(case)


def _phase(case: Case, row: Row) -> Row:
    """A phase's FLOPs and predicted peak (MiB); if it ran, its measured peak.

    The measured peak excludes memory that was held before the model was built.
    """
    flops = phase_flops(case, row["phase"])
    predicted = peak_bytes(case, row["phase"]) / MIB
    formulas = {"flops": flops, "predicted_peak_mib": predicted}
    if row["status"] != "ok":
        return row | formulas
    return row | formulas | {"peak_mib": row["peak_memory_mib"] - row["memory_before_mib"]}


def _components(case: Case, row: Row) -> list[Row]:
    """A row per component of a forward pass: its work (component_work), and its device time.

    Device time counts for the component that has the name of its innermost model range.
    """
    busy_ns: Counter[str] = Counter()
    for activity in row.get("activities", []):
        busy_ns[activity["range"]] += activity["busy_ns"]
    made = []
    for work in component_work(case, row.get("launched")):
        found = work | {"flops_per_byte": work["flops"] / work["bytes"]}
        if ns := busy_ns[work["component"]]:
            busy_ms = ns / row["steps"] / NS_PER_MS
            found["busy_ms"] = busy_ms
        made.append(row | found)
    return made
