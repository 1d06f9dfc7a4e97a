"""Tiles and waves, and the sizes that the fine sweeps of matrix products choose by them.

A GPU computes an (n, n) product tile by tile, one tile per multiprocessor at a time. When the last
wave of tiles leaves most multiprocessors idle, the rate falls: wave quantization (NVIDIA, Matrix
Multiplication Background User's Guide).
"""

from math import ceil

TILE = "128x256"
"""The assumed tile, rows by columns; kernel names say which one ran."""

ALIGNED = 8
"""Rows of a multiple of so many numbers of 16 bits start at multiples of 16 bytes."""


def sides(tile: str) -> tuple[int, int]:
    """The shorter and the longer side of a tile, in numbers of the result."""
    # A square product takes as many tiles of 128x256 as of 256x128.
    shorter, longer = sorted(int(side) for side in tile.split("x"))
    return shorter, longer


def covered(n: int, tile: str, multiprocessors: int | None) -> tuple[int | None, int | None]:
    """How many tiles and waves an (n, n) result takes.

    None where that isn't known: tiles without a tile, waves also without multiprocessors.
    """
    if not tile:
        return None, None
    shorter, longer = sides(tile)
    tiles = ceil(n / shorter) * ceil(n / longer)
    return tiles, ceil(tiles / multiprocessors) if multiprocessors else None


def edges(multiprocessors: int, up_to: int) -> list[int]:
    """Every n below `up_to` whose successor needs one more wave of TILE, in rising order."""
    # The number of tiles changes only past a multiple of a tile's shorter side.
    side = sides(TILE)[0]
    waves = {n: covered(n, TILE, multiprocessors)[1] or 0 for n in range(side, up_to + side, side)}
    return [n for n in range(side, up_to, side) if waves[n + side] > waves[n]]


def edge_near(n: int, multiprocessors: int) -> int:
    """The edge nearest to `n`; in a tie, the smaller one."""
    found = edges(multiprocessors, 4 * n + 4 * sides(TILE)[1] * multiprocessors)
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
