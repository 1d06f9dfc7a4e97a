"""The precisions of cases: all else follows from a line of DECLARED."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
    """How matrix products run.

    element_bytes: of what they read. autocast: the torch type that autocast casts it to, or "".
    capability: the least compute capability of a CUDA device that it needs; None if it runs on a
    CPU, too.
    """

    element_bytes: int
    autocast: str = ""
    capability: tuple[int, int] | None = None


DECLARED: Mapping[str, Precision] = {
    "fp32": Precision(4),
    "tf32": Precision(4, capability=(8, 0)),
    "bf16": Precision(2, autocast="bfloat16"),
    "fp16": Precision(2, autocast="float16"),
}
"""From plain to better."""

PRECISIONS = tuple(DECLARED)

NARROW = tuple(name for name, each in DECLARED.items() if each.autocast)
"""Those in which autocast casts."""

ELEMENT_BYTES = {name: each.element_bytes for name, each in DECLARED.items()}

WIDE_BYTES = 4
"""Bytes of an element that autocast has cast to float32."""
