"""The tile that computed a product, as its kernel's name tells it, and the waves that it took."""

import re
from math import ceil

from workflow_src.studies.study import Row


def tile_of(name: str) -> str:
    """The tile in a kernel's name, as "128x256"; empty if the name has none."""
    found = re.search(r"(?<![A-Za-z0-9])(?:tilesize)?(\d{1,3}x\d{1,3})(?=[x_]|$)", name)
    return found[1] if found else ""


def sides(tile: str) -> tuple[int, int]:
    """The shorter and the longer side of a tile, in numbers of the result."""
    # A square product takes as many tiles of 128x256 as of 256x128.
    shorter, longer = sorted(int(side) for side in tile.split("x"))
    return shorter, longer


def covered(row: Row) -> Row:
    """How many tiles and waves a product's (n, n) result took, by the tile that ran.

    None where that isn't known: `tiles` without a tile, `waves` also without `multiprocessors`.
    """
    if not row.get("tile"):
        return {"tiles": None, "waves": None}
    shorter, longer = sides(row["tile"])
    tiles = ceil(row["n"] / shorter) * ceil(row["n"] / longer)
    there = row.get("multiprocessors")
    return {"tiles": tiles, "waves": ceil(tiles / there) if there else None}
