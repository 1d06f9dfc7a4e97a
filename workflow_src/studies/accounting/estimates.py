"""Two worked examples: how long a measured model would train, and how large one may be."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow_src.common.units import GIB, MIB
from workflow_src.model.estimates import STEP_FLOPS, largest_parameters, train_seconds
from workflow_src.model.memory_formulas import STATE_BYTES
from workflow_src.studies.study import Row

TOKENS_PER_PARAMETER = 20
"""About as many as train a model best for its FLOPs (table 3 of SOURCE)."""

SOURCE = "Hoffmann et al. 2022"

MEMORY_GIB = 80
"""The memory of the example's device."""

DAY_S = 86_400


def example(
    models: Sequence[Row], steps: Sequence[Row], rates: Mapping[str, tuple[float, float]]
) -> dict[str, Any] | None:
    """Both estimates for the largest model measured, in the precision in which a step is fastest.

    models: rows with parameters; steps: training steps with an MFU; rates: by
    precision, the TFLOP/s of the best matrix product first. None if nothing has both.
    """
    known = {(row["size"], row["precision"]): row for row in models}
    pairs = [(known.get((row["size"], row["precision"])), row) for row in steps]
    ran = [(model, row) for model, row in pairs if model and row["precision"] in rates]
    if not ran:
        return None
    parameters = max(model["parameters"] for model, _ in ran)
    largest = [pair for pair in ran if pair[0]["parameters"] == parameters]
    _, step = min(largest, key=lambda pair: float(pair[1]["median_ms"]))
    tokens, tflop_per_s = TOKENS_PER_PARAMETER * parameters, rates[step["precision"]][0]
    seconds = train_seconds(parameters, tokens, 1, tflop_per_s * 1e12, step["mfu"])
    return {
        "size": step["size"],
        "precision": step["precision"],
        "step_flops": STEP_FLOPS,
        "per_parameter": TOKENS_PER_PARAMETER,
        "source": SOURCE,
        "parameters_billion": parameters / 1e9,
        "tokens_billion": tokens / 1e9,
        "tflop_per_s": tflop_per_s,
        "mfu": step["mfu"],
        "days": seconds / DAY_S,
        "memory_gib": MEMORY_GIB,
        "state_bytes": STATE_BYTES,
        "fits_billion": largest_parameters(MEMORY_GIB * GIB, 0) / 1e9,
        "state_gib": STATE_BYTES * parameters / GIB,
        "peak_gib": step["peak_mib"] * MIB / GIB if step.get("peak_mib") else None,
    }
