"""(d) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from collections.abc import Sequence

import pytest

from workflow_src.answers.gemm_share.chapter import verdict


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((20, 19, 0, 19, 15), "by the optimizer"),
        ((20, 19, 0, 6, 1), "by backward"),
        ((20, 19, 0, 19, 10), "falls"),
        ((1, 1, 0, 0, 0), "falls"),
        ((20, 10, 3, 10, 10), "depends"),
        ((20, 0, 0, 0, 0), "rises or same"),
        ((0, 0, 0, 0, 0), "can't tell"),
    ],
)
def test_the_verdict_follows_from_what_is_counted(counts: Sequence[int], said: str) -> None:
    both, falls, rises, known, by_optimizer = counts
    assert verdict(both, falls, rises, known, by_optimizer) == said
