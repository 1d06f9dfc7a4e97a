"""Tiles and waves, and the sizes that the fine sweeps of matrix products choose by them.

A GPU computes an (n, n) product tile by tile, one tile per multiprocessor at a time. When the last
wave of tiles leaves most multiprocessors idle, the rate falls: wave quantization (NVIDIA, Matrix
Multiplication Background User's Guide).
"""

from math import ceil

TILE = (128, 256)
"""The assumed tile, rows by columns; kernel names say which one ran."""

ALIGNED = 8
"""Rows of a multiple of so many numbers of 16 bits start at multiples of 16 bytes."""


def tiles(n: int) -> int:
    """Number of tiles of shape TILE that cover an n x n matrix."""
    return ceil(n / TILE[0]) * ceil(n / TILE[1])


def waves(n: int, multiprocessors: int) -> int:
    """Number of waves in which `multiprocessors` process the tiles of an n x n matrix."""
    return ceil(tiles(n) / multiprocessors)


def edges(multiprocessors: int, up_to: int) -> list[int]:
    """Every n below `up_to` whose successor needs one more wave, in rising order."""
    # The number of tiles changes only past a multiple of a tile's shorter side.
    steps = range(TILE[0], up_to, TILE[0])
    return [n for n in steps if waves(n + 1, multiprocessors) > waves(n, multiprocessors)]


def edge_near(n: int, multiprocessors: int) -> int:
    """The edge nearest to `n`; in a tie, the smaller one."""
    found = edges(multiprocessors, 4 * n + 4 * TILE[1] * multiprocessors)
    return min(found, key=lambda edge: (abs(edge - n), edge))


def edge_sizes(edge: int, reach: int, step: int) -> list[int]:
    """Sizes from `reach` below to `reach` above an edge, including the edge itself."""
    return [n for n in range(edge - reach, edge + reach + 1, step) if n > 0]


def sizes_past(edge: int) -> list[int]:
    """An edge, one more row and column, and the next size whose rows are a multiple of 16 bytes.

    Both larger sizes need another wave; in 16 bits or wider, only the last one's rows are aligned.
    """
    return [edge, edge + 1, edge + ALIGNED]


def divisibility_sizes(top: int) -> list[int]:
    """Of the 128 sizes up to `top`, multiples of 8 and every third n: all kinds of divisors.

    If `top` is a multiple of 128, they all take equally many tiles, so that waves make no
    difference between them.
    """
    return [n for n in range(top - 127, top + 1) if n % 8 == 0 or (top - n) % 3 == 0]
