"""The tiles and waves that a product took, by the tile in its kernel's name."""

import pytest

from workflow_src.studies.matmul.waves import covered


@pytest.mark.parametrize(
    ("n", "tile", "tiles", "waves"),
    [
        (2048, "256x128", 128, 1), (2048, "128x256", 128, 1), (2080, "192x192", 121, 1),
        (2144, "160x256", 126, 1), (2176, "320x128", 119, 1), (2240, "320x128", 126, 1),
        (2272, "256x80", 261, 2), (2304, "192x128", 216, 2), (2049, "128x128", 289, 3),
        (2056, "192x176", 132, 1), (2048, "", None, None),
    ],
)  # fmt: skip
def test_tiles_and_waves_are_those_of_the_tile_that_ran(n, tile, tiles, waves):
    assert covered(n, tile, 132) == (tiles, waves)


def test_without_multiprocessors_only_the_tiles_are_known():
    assert covered(2048, "256x128", None) == (128, None)
