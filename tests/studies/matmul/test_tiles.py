"""The tiles and waves by which the fine sweeps choose their sizes."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.studies.matmul import tiles as matmul_tiles
from workflow_src.studies.matmul.analyze import divisor
from workflow_src.studies.matmul.tiles import covered


@pytest.mark.parametrize(
    ("multiprocessors", "edge"), [(108, 1792), (132, 2048), (114, 1792), (148, 2048)]
)
def test_the_edge_near_2048(multiprocessors, edge):
    assert matmul_tiles.edge_near(2048, multiprocessors) == edge


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


@given(st.integers(1, 200), st.integers(128, 6000))
def test_waves_rise_past_an_edge_and_nowhere_else(multiprocessors, n):
    before, after = (matmul_tiles.covered(m, "128x256", multiprocessors)[1] for m in (n, n + 1))
    assert (after > before) == (n in matmul_tiles.edges(multiprocessors, n + 1))


def test_sizes_of_the_fine_sweeps():
    sizes = matmul_tiles.edge_sizes(2048, 256, 32)
    assert (sizes[0], sizes[-1], len(sizes), 2048 in sizes) == (1792, 2304, 17, True)
    fine = matmul_tiles.divisibility_sizes(2048)
    classes = pd.Series([divisor(n) for n in fine]).value_counts().to_dict()
    assert classes == {32: 4, 16: 4, 8: 8, 2: 16, 1: 21}
    assert {covered(n, "128x256", 132)[0] for n in fine} == {128}
