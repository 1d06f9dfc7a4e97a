"""Analyzes the accounting study: formulas next to times, and rates.

Formulas are evaluated here and not in measure, so that editing one makes no measurement stale.
"""

from collections import Counter

from workflow_src.common.case import Case
from workflow_src.common.ceilings import RATES, rate_of
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.model.flops import phase_flops
from workflow_src.model.memory_formulas import model_row, peak_bytes
from workflow_src.studies import join_points
from workflow_src.studies.accounting.work import component_work
from workflow_src.studies.models import case_of
from workflow_src.studies.rows import busy_ns
from workflow_src.studies.study import Point, Row

RECOMPUTED_FLOPS = 0
"""FLOPs of a step that are computed twice: none, as activations aren't checkpointed."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row of formulas per size, then phases and components by size, then the ceilings."""
    ceilings = [_ceiling(row) for row in rows if row["measurement"] == "ceiling"]
    rates = [row["tflop_per_s"] for row in ceilings if "tflop_per_s" in row]
    made = [_model(_case(point, size)) for size in point["sizes"]]
    busy = {row["size"]: _busy_ms(row) for row in rows if row["measurement"] == "component"}
    for row in rows:
        if row["measurement"] == "phase":
            known = {"busy_ms": busy.get(row["size"])} if row["phase"] == "forward" else {}
            phase = _phase(_case(point, row["size"]), row, max(rates, default=0.0))
            made.append(phase | known)
        if row["measurement"] == "component":
            made += _components(_case(point, row["size"]), row)
    return [*made, *ceilings]


def _case(point: Point, size: str) -> Case:
    return case_of(point, size, point["precision"])


def _busy_ms(row: Row) -> float | None:
    """The device's busy time in one of the profiled forward passes, whichever range it is in."""
    if row["status"] != "ok" or not row.get("activities"):
        return None
    return float(busy_ns(row["activities"]) / row["steps"] / NS_PER_MS)


def tflop_per_s(flops: float, ms: float) -> float:
    """The rate of `flops` in `ms` milliseconds, in TFLOP/s."""
    return flops / (ms * 1e9)


def _model(case: Case) -> Row:
    about = {name: getattr(case, name) for name in ("size", "context", "batch", "precision")}
    return {"measurement": "model"} | about | {"status": "ok", "reason": ""} | model_row(case)


def _phase(case: Case, row: Row, peak_tflop_per_s: float) -> Row:
    """A phase's FLOPs and predicted peak (MiB); if it ran, its measured peak and utilization.

    The measured peak excludes memory that was held before the model was built.
    """
    flops = phase_flops(case, row["phase"])
    predicted = peak_bytes(case, row["phase"]) / MIB
    formulas = {"flops": flops, "predicted_peak_mib": predicted}
    if row["status"] != "ok":
        return row | formulas
    measured = {"peak_mib": row["peak_memory_mib"] - row["memory_before_mib"]}
    return row | formulas | measured | utilization(flops, row["median_ms"], peak_tflop_per_s)


def utilization(flops: int, median_ms: float, peak_tflop_per_s: float) -> Row:
    """MFU and HFU: FLOPs (HFU: plus those recomputed) over time x peak; empty without a peak.

    After Chowdhery et al. 2022, "PaLM", appendix B; peak is the fastest matrix product measured.
    """
    if not peak_tflop_per_s:
        return {}
    return {
        "recomputed_flops": RECOMPUTED_FLOPS,
        "mfu": tflop_per_s(flops, median_ms) / peak_tflop_per_s,
        "hfu": tflop_per_s(flops + RECOMPUTED_FLOPS, median_ms) / peak_tflop_per_s,
    }


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
            found |= {"busy_ms": busy_ms, "tflop_per_s": tflop_per_s(work["flops"], busy_ms)}
        made.append(row | found)
    return made


def _ceiling(row: Row) -> Row:
    """A ceiling's rate: that of its fastest sample."""
    if "median_ms" not in row:
        return row
    return row | {RATES[row["kind"]][1]: rate_of(row, min(row["samples_ns"]))}


if __name__ == "__main__":
    join_points.main(derive)
