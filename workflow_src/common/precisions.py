"""The precisions of cases: each is declared once, and all else follows from its line.

And what operations move in them: the size of elements, and the passes that softmax makes over its
matrix.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Precision:
    """How matrix products run.

    element_bytes: of what they read. autocast: the name of torch's type that autocast casts it to;
    "" for none. capability: the least compute capability of a CUDA device that it needs; None if
    it runs on a CPU, too.
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


class Pass(NamedTuple):
    """One operation of softmax over its matrix: how often it reads and writes each element.

    `wide` says whether a GPU's autocast runs it in float32. Its row vectors are left out.
    """

    reads: int
    writes: int
    wide: bool

    def moves(self, precision: str, autocast_widens: bool) -> int:
        """Bytes read and written per element."""
        size = WIDE_BYTES if self.wide and autocast_widens else ELEMENT_BYTES[precision]
        return size * (self.reads + self.writes)


PASSES = {
    "maximum": Pass(1, 0, wide=False),
    "subtraction": Pass(1, 1, wide=False),
    "exponential": Pass(1, 1, wide=True),
    "sum": Pass(1, 0, wide=True),
    "division": Pass(1, 1, wide=True),
}
"""Softmax written out, in order; each pass does one FLOP per element."""


def cast_moves(precision: str) -> int:
    """Bytes that a cast between a case's precision and float32 reads and writes per element."""
    return ELEMENT_BYTES[precision] + WIDE_BYTES
