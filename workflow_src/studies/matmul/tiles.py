"""Tiles and waves: which sizes a fine sweep of matrix products takes.

A GPU computes an (n, n) product tile by tile, a tile per multiprocessor at a time. When the last
wave of tiles leaves most multiprocessors idle, the rate falls: wave quantization (NVIDIA, Matrix
Multiplication Background User's Guide).
"""

from math import ceil

TILE = (128, 256)
"""The tile that is assumed, rows by columns; kernels' names say which one ran."""


def tiles(n: int) -> int:
    """Tiles of TILE that cover an n x n matrix."""
    return ceil(n / TILE[0]) * ceil(n / TILE[1])


def waves(n: int, multiprocessors: int) -> int:
    """Waves in which `multiprocessors` work off the tiles of an n x n matrix."""
    return ceil(tiles(n) / multiprocessors)


def edges(multiprocessors: int, up_to: int) -> list[int]:
    """Every n below `up_to` whose successor needs a wave more, in rising order."""
    # Tiles change only past a multiple of a tile's shorter side.
    steps = range(TILE[0], up_to, TILE[0])
    return [n for n in steps if waves(n + 1, multiprocessors) > waves(n, multiprocessors)]


def edge_near(n: int, multiprocessors: int) -> int:
    """The edge nearest to `n`, the smaller of two as near."""
    found = edges(multiprocessors, 4 * n + 4 * TILE[1] * multiprocessors)
    return min(found, key=lambda edge: (abs(edge - n), edge))


def edge_sizes(edge: int, reach: int, step: int) -> list[int]:
    """Sizes from `reach` below to `reach` above an edge, the edge itself among them."""
    return [n for n in range(edge - reach, edge + reach + 1, step) if n > 0]


def divisibility_sizes(top: int) -> list[int]:
    """Sizes with all kinds of divisors in the 128 up to `top`: multiples of 8, every third other.

    Where `top` is a multiple of 128 they all take as many tiles, so that waves don't tell them
    apart.
    """
    return [n for n in range(top - 127, top + 1) if n % 8 == 0 or (top - n) % 3 == 0]
