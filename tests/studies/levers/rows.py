"""Rows of the levers study's table, of a case whose plain step takes 100 ms."""

from typing import Any

from workflow_src.studies.levers.variants import PLAIN


def tried(variant: str, ms: float | None, **other: Any) -> dict[str, Any]:
    """A training step, 40 ms of device work in the plain one and 20 in others."""
    row = {"point": f"a.{variant}", "case": "a", "precision": "bf16", "device": "cuda",
           "variant": variant, "remedies": "" if variant == PLAIN else variant, "batches": 1,
           "phase": "train_step", "status": "ok", "reason": "", "median_ms": ms,
           "device_ms": 40.0 if variant == PLAIN else 20.0,
           "peak_memory_mib": 2048.0, "error_state": "ok", "gradients_error": 0.03}  # fmt: skip
    return row | other


def ends(fastest: float, slowest: float) -> dict[str, float]:
    return {"fastest_process_ms": fastest, "slowest_process_ms": slowest}


STEP = tried(PLAIN, 100.0)
FUSED = {"remedies": "sdpa+fused"}
