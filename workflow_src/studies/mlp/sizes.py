"""The sizes of the MLP that are measured."""

from collections.abc import Mapping

Sizes = Mapping[str, int]

BASE = {"steps": 2, "layers": 4, "batch": 256, "dim": 256}
FACTORS = (2, 3, 4, 5)
SMALL_MATMUL = 128


def scaled() -> list[tuple[str, int, Sizes]]:
    """What is scaled, by how much, and the sizes: the base, then each size by each factor."""
    grown = [
        (axis, factor, BASE | {axis: BASE[axis] * factor}) for axis in BASE for factor in FACTORS
    ]
    return [("base", 1, BASE), *grown]
