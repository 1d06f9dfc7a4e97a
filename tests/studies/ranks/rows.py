"""Rows of the table of the study ranks."""

from typing import Any

H200 = {"gpu": "NVIDIA H200"}
CASE = {"size": "2.7B", "precision": "fp32", "context": 512, "batch": 2}


def way(name: str, ms: float | None, gpu: bool = True, **more: Any) -> dict[str, Any]:
    """A way of training; on a GPU, the device computes for 95 ms."""
    times = {"median_ms": ms, "p20_ms": ms and 0.9 * ms, "p80_ms": ms and 1.1 * ms}
    errors = {} if name == "alone" else {"gradient_error": 1e-6, "parameter_error": 1e-5}
    about = {"point": "p", "measurement": "training", "way": name, "status": "ok", "reason": ""}
    device = H200 | {"compute_ms": 95.0} if gpu else {"gpu": ""}
    return about | CASE | device | times | errors | more


def reduced(size: int, bus: float, **more: Any) -> dict[str, Any]:
    """An all-reduce of so many bytes."""
    about = {"point": "all_reduce", "measurement": "all_reduce", "status": "ok", "reason": ""}
    rates = {"algorithm_gb_per_s": bus, "bus_gb_per_s": bus, "median_ms": size / bus / 1e6}
    return about | H200 | {"bytes": size} | rates | more


def collective(name: str, calls: float, late: float) -> dict[str, Any]:
    """A kind of collective of FSDP2."""
    about = {"point": "p", "measurement": "collective", "way": "fsdp", "status": "ok", "reason": ""}
    numbers = {"calls": calls, "late_calls": late, "communication_ms": 40.0, "exposed_ms": 1.5}
    return about | CASE | H200 | {"collective": name} | numbers
