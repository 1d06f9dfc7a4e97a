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
