"""The tiles and waves that a product took, by the tile in its kernel's name."""

from math import ceil


def sides(tile: str) -> tuple[int, int]:
    """The shorter and the longer side of a tile, in numbers of the result."""
    # A square product takes as many tiles of 128x256 as of 256x128.
    shorter, longer = sorted(int(side) for side in tile.split("x"))
    return shorter, longer


def covered(n: int, tile: str, multiprocessors: int | None) -> tuple[int | None, int | None]:
    """How many tiles and waves an (n, n) result took, by the tile that ran.

    None where that isn't known: tiles without a tile, waves also without multiprocessors.
    """
    if not tile:
        return None, None
    shorter, longer = sides(tile)
    tiles = ceil(n / shorter) * ceil(n / longer)
    return tiles, ceil(tiles / multiprocessors) if multiprocessors else None
