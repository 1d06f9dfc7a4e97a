"""How far off a measured time may be."""

import pytest

from workflow_src.studies.levers.spread import between


def test_the_luck_of_few_processes_is_badly_known() -> None:
    """Student's t: the interval of three medians is 2.2 times as wide as their spread suggests."""
    process = [number for number in range(3) for _ in range(8)]
    samples = [ns for ns in (90, 100, 110) for _ in range(8)]
    row = {"samples_ns": samples, "process": process}
    assert between(row) == pytest.approx(4.303 * 0.1 / 3**0.5)
    assert between(row, 1) == pytest.approx(4.303 * 0.1), "of a single process more"
    same = {"samples_ns": [100] * 24, "process": process}
    assert between(same) == pytest.approx(1.96 * 0.02)
    one = {"samples_ns": [100, 100], "median_ms": 1.0, "p20_ms": 0.9, "p80_ms": 1.1}
    assert between(one) == pytest.approx(1.96 * 0.1)
