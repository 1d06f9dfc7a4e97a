"""How times are tabulated."""

import pandas as pd

from tests.studies.levers.points import point
from workflow_src.studies.levers import analyze


def test_the_time_of_compiling_is_that_of_the_process_that_compiled() -> None:
    """The next process finds in a cache on disk what the first one compiled."""
    about = {"measurement": "compile", "status": "ok", "median_ms": 4000.0}
    rows = [about | {"samples_ns": [s * 10**9, 4 * 10**9, 4 * 10**9]} for s in (24, 55)]
    phase = {"measurement": "phase", "phase": "forward", "status": "oom", "reason": "r"}
    (row,) = analyze.derive(point("compile"), [*rows, phase])
    assert row["compile_s"] == 79


def test_each_process_s_median_counts_per_batch() -> None:
    row = {"samples_ns": [10**7, 3 * 10**7, 2 * 10**7, 5 * 10**7], "process": [0, 0, 0, 1]}
    assert analyze._processes(row, 2) == {
        "processes": 2, "fastest_process_ms": 10.0, "slowest_process_ms": 25.0
    }  # fmt: skip
    assert analyze._processes({"samples_ns": [1, 2]}, 1) == {"processes": 1}


def test_each_phase_is_held_against_the_plain_one_of_its_case() -> None:
    keys = ["case", "phase", "variant", "median_ms"]
    cells = [("a", "forward", "plain", 50.0), ("a", "forward", "sdpa", 40.0),
             ("a", "train_step", "sdpa", 60.0), ("b", "forward", "plain", None)]  # fmt: skip
    found = analyze.complete(pd.DataFrame(cells, columns=keys))
    assert found["saving_ms"].fillna(-1).tolist() == [0.0, 10.0, -1.0, -1.0]
    assert found["saving_share"].fillna(-1).tolist() == [0.0, 0.2, -1.0, -1.0]
    assert analyze.complete(pd.DataFrame(cells, columns=keys)[keys[:3]])["plain_ms"].isna().all()
