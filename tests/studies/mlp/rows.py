"""Rows of the mlp study's table."""

from typing import Any

BASE = {"steps": 2, "layers": 4, "batch": 256, "dim": 256}
ABOUT = {"point": "mlp", "device": "cuda", "status": "ok", "reason": ""}


def scaled(axis: str, factor: int, ms: float | None, **more: Any) -> dict[str, Any]:
    """The base (axis "base"), or with a size scaled."""
    sizes = BASE | ({} if axis == "base" else {axis: BASE[axis] * factor})
    times = {"median_ms": ms, "p20_ms": ms and 0.9 * ms, "p80_ms": ms and 1.2 * ms}
    return {"part": "scaling", "axis": axis, "factor": factor, **sizes} | ABOUT | times | more


def width(dim: int, share: float, ms: float = 2.0, **more: Any) -> dict[str, Any]:
    """A step at a width, of which the device works for a share."""
    times = {"median_ms": ms, "busy_ms": ms * share, "busy_share": share}
    return {"part": "sweep", **BASE, "dim": dim} | ABOUT | times | more


def operator(name: str, share: float, **more: Any) -> dict[str, Any]:
    """An operator of one operation."""
    names = {"operation": "matmul 8", "operator": name, "kernel": "k", "family": "gemm"}
    numbers = {"calls": 2, "device_ms": share, "share": share, "median_ms": 1.5}
    return {"part": "operators"} | ABOUT | names | numbers | more
