import pytest

from tests.studies.tables import table
from workflow_src.studies.fusion.copies import LARGE, bandwidth, cached
from workflow_src.studies.lines import Line, lines


def line(**cells: object) -> Line:
    """A copy of LARGE elements."""
    about = {"implementation": "copy", "elements": LARGE, "bytes_moved": 8 * LARGE, "gpu": "other"}
    return lines(table(about | cells), "fusion")[0]


@pytest.mark.parametrize(
    ("gpu", "mib", "expected"),
    [("NVIDIA H200", 100, True), ("NVIDIA H200", 101, False), ("other", 100, True)],
)
def test_what_fits_in_a_cache(gpu: str, mib: int, expected: bool) -> None:
    found = line(gpu=gpu, elements=mib * 2**20 // 8, bytes_moved=mib * 2**20)
    assert cached(found) is expected


def test_tensors_that_took_turns_were_not_in_the_cache() -> None:
    assert cached(line(elements=2**20)) and not cached(line(elements=2**20, sets=26))


def test_the_best_rate_is_that_of_the_ceiling_or_of_a_faster_copy() -> None:
    copies = [line(achieved_gb_per_s=900.0), line(achieved_gb_per_s=990.0, elements=2**20)]
    found = bandwidth(copies)
    assert found and found.number == 900.0, "the other fits in a cache"
    found = bandwidth([*copies, line(ceiling_gb_per_s=1000.0, implementation="torch")])
    assert found and found.number == 1000.0
    assert bandwidth([line(implementation="torch", achieved_gb_per_s=1.0)]) is None
    assert bandwidth([]) is None
