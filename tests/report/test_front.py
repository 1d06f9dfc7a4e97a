"""The chapters beside the answers: checks, what was run, what may have disturbed it, all cases."""

import pandas as pd
import pytest

from tests.answers.chapters import chapter, read_run, sampled
from tests.synthetic_tables import Sample
from workflow_src.answers import machines as doubts
from workflow_src.answers.machines import conditions, warned
from workflow_src.paper.run import Run
from workflow_src.report import trust
from workflow_src.report.ran import NO_RESULT, missing, settings, values

QUIET = {"other_processes_before": 0, "host_launch_us_before": 4, "host_launch_us_after": 4.6}


def changed(folder, table: str, **columns: object) -> Run:
    """The run in a folder with columns of a table replaced."""
    path = folder / f"{table}.csv"
    pd.read_csv(path).assign(**columns).to_csv(path, index=False)
    return read_run(folder)


def results(run: Run) -> dict[str, tuple[str, bool]]:
    """What each check found, and whether it held."""
    every = trust.facts(run)["every"]
    texts = ["".join(map(str, r)) if isinstance(r, tuple) else str(r) for r in every["result"]]
    return dict(zip(every["what"], zip(texts, every["held"], strict=True), strict=True))


def test_failed_checks_stand_by_name_and_others_are_counted(tmp_path):
    """0.2 of 100.2 ms of one capture are outside of ranges, and one was asked for in fp32."""
    run = sampled(tmp_path, Sample(), Sample(context=256, outside_ns=200_000, precision_ran="tf32"))
    made = chapter("trust", run)
    assert made.markdown["headline"].startswith("2 checks of these numbers failed; ")
    assert "| device time outside all ranges, at most | 0.2 % | 0.1 % |" in made.markdown["section"]
    assert results(run)["products ran in the precision asked for; cases"] == ("1 of 2", False)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({}, []),
        ({"throttled": "power cap"}, [doubts.THROTTLED]),
        ({"other_processes_most": 2}, [doubts.SHARED]),
        ({"other_processes_after": 1}, [doubts.SHARED]),
        ({"load_average_before": 9.0, "cpu_cores": 2}, [doubts.BUSY]),
        ({"load_average_before": 9.0, "cpu_cores": 8}, []),
        ({"host_launch_us_after": 3.0}, [doubts.CHANGED]),
        ({"host_change_most": 1.3}, [doubts.CHANGED]),
        ({"host_change_most": 1.1, "host_launch_us_after": 9}, []),
        ({"locks_are_shared": "False"}, [doubts.NOT_LOCKED]),
    ],
)
def test_warnings_follow_from_what_a_machine_recorded(tmp_path, cells, expected):
    run = sampled(tmp_path, Sample(environment=QUIET | cells))
    (found,) = warned(run, conditions(run)).eq(True).to_dict("records")
    assert [name for name, there in found.items() if there] == expected


@pytest.mark.parametrize(
    ("recorded", "during", "throttled"),
    [
        ("", (0.58, 0, 0), True),
        ("power cap", (0, 0, 0), False),
        ("heat", (0, 0, 0), True),
        ("power cap", (None, None, None), True),
    ],
)
def test_power_throttles_a_case_if_it_limits_the_clock_during_steps(
    tmp_path, recorded, during, throttled
):
    """A reading before or after a case counts only where none was taken during its steps."""
    sampled(tmp_path, Sample(environment={"throttled": recorded}))
    run = changed(tmp_path, "tables/timings", power_capped_share=[*during])
    assert [*(conditions(run)["why_throttled"] != "")] == [throttled]


def test_settings_are_shown_as_they_were_recorded(tmp_path):
    assert values(pd.Series([10.0, 20.0, 10.0, float("nan")])) == "10 in 2, 20 in 1"
    assert values(pd.Series(["13.0", "13.0", ""])) == "13.0"
    assert values(pd.Series([9.0, 10, 8, 7, 11])) == "7 to 11"
    found = dict(settings(sampled(tmp_path, Sample())).to_numpy().tolist())
    assert found["profiler"] == "Nsight Systems 2025.1"
    assert "secret" not in str(found)


def test_what_is_missing_has_its_state_and_reason(tmp_path):
    oom = {"train_step": ("oom", "CUDA out of memory")}
    (row,) = missing(sampled(tmp_path, Sample(status=oom))).to_numpy().tolist()
    assert row == ["small-ctx128-fp32", "OOM", "OOM", "CUDA out of memory", "training step"]
    lost = {"train_step": ("not_measured", "")}
    (row,) = missing(sampled(tmp_path / "lost", Sample(status=lost))).to_numpy().tolist()
    assert row[1:4] == ["not measured", "not measured", NO_RESULT]
