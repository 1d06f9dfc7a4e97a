"""The profiler study: from raw rows to pairs, and what they say."""

from typing import Any

import pytest

from tests.studies.chapters import facts
from tests.studies.tables import table
from workflow_src.studies.profiler.analyze import derive

POINT = {"point": "tiny-ctx32-fp32", "sizes": {"tiny": {}}, "context": 32, "precision": "fp32"}
MS = 1_000_000


def raw(name: str, *processes: list[float]) -> dict[str, Any]:
    """A raw row: the steps (ms) of each process, merged."""
    samples = [round(ms * MS) for steps in processes for ms in steps]
    of = [number for number, steps in enumerate(processes) for _ in steps]
    about = {"phase": "forward", "name": name, "status": "ok", "reason": ""}
    return about | {"samples_ns": samples, "process": of}


def pair(plain: float, profiled: float, case: str = "a") -> dict[str, Any]:
    """A row of the table."""
    return {"case": case, "plain_ms": plain, "profiled_ms": profiled}


def test_each_pair_has_the_medians_of_its_two_processes() -> None:
    rows = [raw("plain", [1, 2, 9], [3, 3, 3]), raw("profiled", [4, 4, 5], [3, 6, 6])]
    found = derive(POINT, rows)
    keys = ("pair", "profiled_first", "plain_ms", "profiled_ms", "status")
    assert [[row[key] for key in keys] for row in found] == [
        [0, False, 2.0, 4.0, "ok"],
        [1, True, 3.0, 6.0, "ok"],
    ]


def test_a_case_that_ran_out_of_memory_says_so() -> None:
    lost = {"phase": "forward", "name": "plain", "status": "oom", "reason": "no memory"}
    (row,) = derive(POINT, [lost, raw("profiled", [1])])
    assert (row["case"], row["status"], row["reason"]) == (POINT["point"], "oom", "no memory")


@pytest.mark.parametrize(
    ("pairs", "verdict", "shown"),
    [
        ([pair(10, 15), pair(20, 28), pair(10, 16)], "costs", ("1.5 ×", "1.4 ×", "1.6 ×")),
        ([pair(10, 15), pair(20, 19), pair(10, 16)], "not shown", ("1.5 ×", "0.95 ×", "1.6 ×")),
        ([pair(10, 15), pair(20, 28)], "not shown", ("1.4 ×", "1.4 ×", "1.5 ×")),
        ([{"case": "a", "status": "oom", "reason": "no memory"}], "can't tell", ()),
    ],
)
def test_a_cost_is_shown_by_three_pairs_that_agree(
    pairs: list[dict[str, Any]], verdict: str, shown: tuple[str, ...]
) -> None:
    found = facts("profiler", table(*pairs))
    assert found["verdict"] == verdict
    times = [each for cell in found["cases"]["times"] for each in (cell, *cell.ends)]
    assert tuple(map(str, times)) == shown
