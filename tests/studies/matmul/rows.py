"""Rows of the matmul study's table."""

from typing import Any

from workflow_src.studies.matmul.analyze import DIVISORS

NVJET = "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNN"
CUTLASS = "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1"


def row(sweep: str, n: int, tflops: float, **more: Any) -> dict[str, Any]:
    """A product measured in bf16, in a steady time in which the GPU works."""
    ms = 2 * n**3 / tflops / 1e9
    divisor = next(each for each in DIVISORS if n % each == 0)
    about = {"point": "p", "sweep": sweep, "precision": "bf16", "n": n, "gpu": "NVIDIA H200"}
    times = {"median_ms": ms, "p20_ms": ms, "p80_ms": ms, "busy_ms": ms}
    ran = {"kernel": NVJET, "tile": "128x256", "ran": "bf16", "status": "ok", "reason": ""}
    return about | times | ran | {"tflops": tflops, "divisor": divisor} | more


def unmeasured(sweep: str, status: str, **more: Any) -> dict[str, Any]:
    """A product without a measurement."""
    about = {"point": "p", "sweep": sweep, "precision": "bf16", "gpu": "NVIDIA H200"}
    return about | {"status": status, "reason": "why"} | more


FINE = [row("divisibility", 2048, 600), row("divisibility", 2040, 500)]
ODD = [row("divisibility", n, rate, kernel=CUTLASS) for n, rate in ((2047, 100), (2046, 200))]
