"""The tiles and waves by which the fine sweeps choose their sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.studies.matmul import tiles as matmul_tiles


@pytest.mark.parametrize(
    ("multiprocessors", "edge"), [(108, 1792), (132, 2048), (114, 1792), (148, 2048)]
)
def test_the_edge_near_2048(multiprocessors, edge):
    assert matmul_tiles.edge_near(2048, multiprocessors) == edge


@given(st.integers(1, 200), st.integers(128, 6000))
def test_waves_rise_past_an_edge_and_nowhere_else(multiprocessors, n):
    before, after = (matmul_tiles.covered(m, "128x256", multiprocessors)[1] for m in (n, n + 1))
    assert (after > before) == (n in matmul_tiles.edges(multiprocessors, n + 1))
