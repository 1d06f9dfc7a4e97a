"""The profiler study: from raw rows to pairs, and what they say."""

from typing import Any

import pandas as pd
import pytest

from tests.studies.chapters import facts
from tests.studies.tables import table
from tests.synthetic_tables import Sample, tables
from workflow_src.answers.forward_time.pairs import pairs as pairs_of
from workflow_src.answers.tables import Tables
from workflow_src.studies.profiler.analyze import derive

POINT = {"point": "tiny-ctx32-fp32", "sizes": {"tiny": {}}, "context": 32, "precision": "fp32"}
MS = 1_000_000
SAMPLE = Sample()


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


def tables_of(pairs: pd.DataFrame, sample: Sample = SAMPLE, **environment: str) -> Tables:
    """A run of one case with this table of the study, and cells in its row of environments.csv."""
    frames = tables(sample)
    frames["environments"] = frames["environments"].assign(**environment)
    return Tables(frames | {"studies/profiler": pairs})


def test_question_a_takes_all_pairs_of_a_case() -> None:
    pairs = table(pair(10, 15), pair(20, 28), pair(10, 16), pair(1, 9, case="b"))
    pairs["case"] = pairs["case"].replace("a", SAMPLE.case)
    for host in ({"host_id": "1e5"}, {}):
        found = pairs_of(tables_of(pairs, **host), SAMPLE.case)
        assert [each.number for each in found] == [1.5, 1.4, 1.6]
        assert not pairs_of(tables_of(pairs.iloc[:0, :0], **host), SAMPLE.case)
        assert not pairs_of(tables_of(pairs, **host), "c")
    assert pairs_of(tables_of(pairs.assign(host_id="1e5"), host_id="1e5"), SAMPLE.case) == found
    elsewhere = tables_of(pairs.assign(host_id="100000"), host_id="1e5")
    assert not pairs_of(elsewhere, SAMPLE.case), "another host's"
