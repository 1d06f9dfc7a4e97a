"""Rows of the study, as tests make them."""

from typing import Any


def launches(*counts: int) -> list[dict[str, Any]]:
    about = {"range": "", "kind": "kernel", "operator": "aten::add", "busy_ns": 500}
    return [about | {"name": f"k{i}", "calls": calls} for i, calls in enumerate(counts)]
