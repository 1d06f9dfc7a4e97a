"""The rank test, its correction and intervals, against known values."""

import itertools

import numpy as np
import pandas as pd
import pytest

from workflow_src.compare.plain import ALPHA, fewest_processes
from workflow_src.compare.statistics import holm, mann_whitney, smallest_p

# The example of scipy.stats.mannwhitneyu's documentation.
MALES, FEMALES = [19, 22, 16, 29, 24], [20, 11, 17, 12]


def test_p_is_what_scipy_documents() -> None:
    assert mann_whitney(MALES, FEMALES) == pytest.approx(0.1111111111111111)
    assert mann_whitney(range(100), range(100, 200)) == pytest.approx(smallest_p(100, 100))


def test_p_counts_all_choices_also_with_ties() -> None:
    random = np.random.default_rng(0)
    for _ in range(40):
        a, b = (random.integers(0, 5, random.integers(1, 6)).tolist() for _ in range(2))
        ranks = pd.Series([*a, *b]).rank().to_numpy()
        mean = len(a) * (len(ranks) + 1) / 2
        sums = [abs(sum(c) - mean) for c in itertools.combinations(ranks.tolist(), len(a))]
        far = [s >= abs(ranks[: len(a)].sum() - mean) for s in sums]
        assert mann_whitney(a, b) == pytest.approx(sum(far) / len(far))


def test_the_smallest_p_and_the_fewest_processes() -> None:
    assert smallest_p(5, 5) == 2 / 252
    assert mann_whitney(range(5), range(5, 10)) == pytest.approx(2 / 252)
    assert [fewest_processes(tests) for tests in (1, 3, 180)] == [6, 7, 10]
    assert smallest_p(7, 7) * 3 < ALPHA < smallest_p(6, 6) * 3


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []
