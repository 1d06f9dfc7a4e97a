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
    numbers = {"flops_per_byte": intensity, "flops": tflops * 1e9, "busy_ms": 1.0}
    return {"measurement": "component", "component": name} | ABOUT | numbers | more


def ceiling(name: str, work: str, amount: float, **more: Any) -> dict[str, Any]:
    """A ceiling whose median call took 1 ms."""
    about = {"measurement": "ceiling", "ceiling": name, "name": name.split()[0], "median_ms": 1.0}
    return ABOUT | about | {work: amount, "size": None} | more


CEILINGS = [
    ceiling("matmul 8", "flops", 10e9),
    ceiling("matmul 9", "flops", 9e9, tflop_per_s=12.0),
    ceiling("write", "bytes", 2e9),
    ceiling("copy", "bytes", 1e9),
]
"""10 TFLOP/s by medians, and 1,000 GB/s of what reads: a ridge of 10 FLOPs per byte."""
