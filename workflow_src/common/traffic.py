"""What operations move: the size of elements, and the passes that softmax makes over its matrix."""

from typing import NamedTuple

from workflow_src.common.precisions import DECLARED

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
