"""Points of the levers study, measured on a CPU, and rows of its table."""

import json
from functools import cache
from typing import Any

import pandas as pd

from workflow_src.studies.levers.measure import measure
from workflow_src.studies.levers.points import PLAIN, points

SIZES = {"tiny": {"d_model": 16, "d_ff": 32, "layers": 2, "heads": 2}}
SETTINGS = {"sizes": SIZES, "vocabulary": 50, "levers_cases": ["tiny-ctx8-fp32"]}
ENVIRONMENT = {"gpu": "", "cpu": "c", "cpu_threads": "1", "driver": "", "cuda": "", "torch": "2"}


def point(name: str, **other: Any) -> dict[str, Any]:
    made = {row["variant"]["name"]: row for row in points("cpu", "small", SETTINGS)}
    return made[name] | {"device": "cpu", "steps": 2, "copy_elements": 4096} | other


@cache
def measured(name: str) -> str:
    """A point's result as the stage writes it."""
    made = point(name)
    return json.dumps({"point": made, "rows": measure(made), "environment": ENVIRONMENT})


def result(name: str) -> dict[str, Any]:
    return json.loads(measured(name))


def tried(variant: str, ms: float, device_ms: float, **other: Any) -> dict[str, Any]:
    """A row of the table: a training step whose plain one takes 100 ms, 40 of them on the GPU."""
    row = {"case": "a", "precision": "bf16", "device": "cuda", "variant": variant, "reason": "",
           "remedies": "" if variant == PLAIN else variant, "phase": "train_step", "status": "ok",
           "plain_ms": 100.0, "saving_ms": 100 - ms, "saving_share": 1 - ms / 100,
           "median_ms": ms, "p20_ms": ms - 5, "p80_ms": ms + 5, "device_ms": device_ms,
           "peak_memory_mib": 1000.0, "error_state": "ok", "gradients_error": 0.03}  # fmt: skip
    return row | other


def expected_of(ms: float, low: float, high: float, device_ms: float) -> dict[str, Any]:
    found = {"predicted_ms": ms, "predicted_low": low, "predicted_high": high}
    return found | {"predicted_device_ms": device_ms, "why": "w", "verdict": "inside"}


TRIED = pd.DataFrame(
    [
        tried(PLAIN, 100.0, 40.0),
        tried("sdpa", 80.0, 20.0, peak_memory_mib=900.0) | expected_of(85.0, 0.0, 150.0, 21.0),
        tried("fused", 101.0, 40.0, gradients_error=0.035) | expected_of(90.0, 80.0, 140.0, 30.0),
        tried("compile", 60.0, 30.0, gradients_error=None) | expected_of(60.0, 50.0, 70.0, 30.0),
    ]
)
