"""A plain step whose parts take 10, 20 and 30 ms of device work."""

from typing import Any

from tests.studies.levers.points import point
from workflow_src.studies.levers.known import Known, plain_case
from workflow_src.studies.levers.parts import KINDS, Part
from workflow_src.studies.levers.points import PLAIN
from workflow_src.studies.levers.wall_time import PASSES

PARTS = {f"{which} {kind}": Part() for which in ("forward", "backward") for kind in KINDS} | {
    "forward products": Part(10.0, 0.0, 100),
    "backward products": Part(20.0, 0.0, 200),
    "optimizer": Part(30.0, 0.0, 300),
}


def known(**other: Any) -> Known:
    """A case on a GPU: 10 ms of device work in forward, 20 in backward, 30 in the optimizer."""
    values: dict[str, Any] = {
        "case": plain_case(point(PLAIN) | {"device": "cuda"}),
        "parts": PARTS,
        "walls": {"forward": 10.0, "forward_backward": 30.0, "train_step": 60.0},
        "between": dict.fromkeys(PASSES, 0.0),
        "luck": dict.fromkeys(PASSES, 0.0),
        "bytes_per_ms": Part(28.0, 0.0),
        "product": {"fp32": 1.0, "bf16": 0.25},
        "pieces": {},
        "us_per_call": 0.0,
        "chain": 2.0,
        "gated": 0.0,
    }
    return Known(**values | other)


def activity(of: str, family: str, ms: float, calls: int = 1, name: str = "k") -> dict[str, Any]:
    row = {"range": of, "family": family, "name": name, "calls": calls}
    return row | {"busy_ns": round(ms * 1e6)}
