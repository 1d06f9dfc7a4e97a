"""Analyzes the checkpointing study: peaks and FLOPs against formulas, and which choice is best."""

from dataclasses import replace

from workflow_src.common.case import Case
from workflow_src.common.components import PER_BLOCK
from workflow_src.common.units import MIB
from workflow_src.model.flops import (
    nested_passes,
    nested_recomputed_flops,
    phase_flops,
    recomputed_flops,
)
from workflow_src.model.step_memory import (
    each,
    halves,
    step_peak_bytes,
    weights_and_state_bytes,
)
from workflow_src.studies.models import case_of, dimensions
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row per arrangement, with predictions, and which was predicted to be best.

    The ceilings that older points measured, too, are left out.
    """
    best = best_sublayers(case_of(point, point["size"], point["precision"]))
    return [
        _arranged(replace(case_of(point, row["size"], row["precision"]), layers=row["layers"]), row)
        | {"predicted_best": best}
        for row in rows
        if row["measurement"] != "ceiling"
    ]


def best_sublayers(case: Case) -> int:
    """How many sublayers to checkpoint as one for the least peak; of equal ones, the most.

    Equal ones are within a thousandth: more inputs are kept of fewer sublayers, for nothing.
    """
    peaks = {
        number: step_peak_bytes(case, each(case.layers, number))
        for number in range(1, PER_BLOCK * case.layers + 1)
    }
    least = min(peaks.values())
    return max(number for number, peak in peaks.items() if peak <= least * 1.001)


def _arranged(case: Case, row: Row) -> Row:
    """A row with what is predicted of it and, where it ran, its peak (MiB)."""
    layers, sublayers = row["layers"], row["sublayers"]
    if row["nested"]:
        checkpoints, passes = halves(layers), nested_passes(layers)
        again = nested_recomputed_flops(case)
    else:
        checkpoints = each(layers, sublayers)
        passes = layers * bool(sublayers)
        again = recomputed_flops(case, sublayers)
    known = {
        "predicted_peak_mib": step_peak_bytes(case, checkpoints) / MIB,
        "weights_and_state_mib": weights_and_state_bytes(case) / MIB,
        "flops": phase_flops(case, "train_step"),
        "recomputed_flops": again,
        "predicted_passes": layers + passes,
    }
    ran = {"peak_mib": row["peak_bytes"] / MIB} if row["status"] == "ok" else {}
    return row | dimensions(case) | known | ran
