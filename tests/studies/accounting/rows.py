"""Rows of the accounting study's table."""

from typing import Any

ABOUT = {"point": "fp32", "size": "small", "context": 512, "batch": 4, "precision": "fp32",
         "gpu": "H200", "status": "ok", "reason": ""}  # fmt: skip
MODEL = {"measurement": "model", "parameters": 100, "parameters_without_embedding": 90,
         "forward_flops": 100.0, "backward_flops": 200.0, "forward_rule_flops": 95.0,
         "step_rule_flops": 285.0, "step_rule_all_flops": 297.0, "weights_mib": 1024.0,
         "gradients_mib": 1024.0, "optimizer_mib": 2048.0, "activations_mib": 512.0}  # fmt: skip


def model(**more: Any) -> dict[str, Any]:
    """The formulas of a size: 6ND gives 95 % of a step's FLOPs."""
    return ABOUT | MODEL | more


def phase(name: str = "forward", **more: Any) -> dict[str, Any]:
    """A phase of 1 ms and 4 GFLOP, in which the device works for 95 % in forward."""
    times = {"median_ms": 1.0, "p20_ms": 1.0, "p80_ms": 1.0, "flops": 4e9}
    memory = {"predicted_peak_mib": 921.6, "peak_mib": 1024.0}
    busy = {"busy_ms": 0.95} if name == "forward" else {}
    return {"measurement": "phase", "phase": name} | ABOUT | times | memory | busy | more


def component(name: str, intensity: float, tflops: float, **more: Any) -> dict[str, Any]:
    """A component that took 1 ms."""
    work = {"flops": tflops * 1e9, "bytes": tflops * 1e9 / intensity}
    numbers = work | {"flops_per_byte": intensity, "busy_ms": 1.0}
    return {"measurement": "component", "component": name} | ABOUT | numbers | more


def ceiling(kind: str, name: str, column: str, median: float, **more: Any) -> dict[str, Any]:
    """A row of ceilings.csv."""
    blank = {"best_gb_per_s": None, "best_giga_exp_per_s": None}
    return blank | {"kind": kind, "name": name, "precision": "fp32", column: median} | more


CEILINGS = [
    ceiling("compute", "matmul", "median_tflop_per_s", 9.0, best_tflop_per_s=12.0),
    ceiling("compute", "matmul", "median_tflop_per_s", 10.0),
    ceiling("compute", "matmul", "median_tflop_per_s", 10.0, precision="bf16"),
    ceiling("bandwidth", "write", "median_gb_per_s", 2000.0),
    ceiling("bandwidth", "copy", "median_gb_per_s", 1000.0),
]
"""10 TFLOP/s by medians, and 1,000 GB/s of what reads: a ridge of 10 FLOPs per byte."""
