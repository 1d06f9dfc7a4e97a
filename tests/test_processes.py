"""A benchmark in several fresh processes, and the speed of the host around it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from workflow_src.common.case import PHASES, Case
from workflow_src.common.errors import StageError
from workflow_src.common.summary import by_process
from workflow_src.measure import benchmark
from workflow_src.measure.processes import in_fresh_processes, merged, merged_phase
from workflow_src.tables.measured import doubts, environment

CASE = Case("t", "tiny", 16, 32, 2, 2, 50, 2, 8, "fp32", "naive", "adamw", "cpu")
ROW = CASE.as_dict() | {"warmup_steps": 1, "steps": 2, "cpu_threads": 1}


def phase(*samples: int, **other: Any) -> dict[str, Any]:
    row = {"status": "ok", "reason": "", "samples_ns": list(samples)}
    return row | {"peak_memory_mib": 1.0} | other


def result(number: int, *samples: int) -> dict[str, Any]:
    around = {"before": {"host_operation_us": 1.0}, "during": {}, "after": {}}
    times = {"started_at": f"start {number}", "ended_at": f"end {number}"}
    about = {"environment": {}, "locks_are_shared": True}
    return {"phases": {"forward": phase(*samples)}} | about | around | times


def test_results_of_processes_are_merged_and_keep_which_is_whose() -> None:
    found = merged([result(0, 10, 11), result(1, 20, 21, 22) | {"locks_are_shared": False}])
    forward = found["phases"]["forward"]
    assert forward["samples_ns"] == [10, 11, 20, 21, 22]
    assert forward["process"] == [0, 0, 1, 1, 1]
    assert (found["started_at"], found["ended_at"]) == ("start 0", "end 1")
    assert [part["started_at"] for part in found["processes"]] == ["start 0", "start 1"]
    assert not found["locks_are_shared"], "as they weren't for one"


def test_the_peak_is_that_of_any_process_and_a_failure_that_of_the_phase() -> None:
    assert merged_phase([phase(1, peak_memory_mib=5.0), phase(2)])["peak_memory_mib"] == 5.0
    full = {"status": "oom", "reason": "CUDA out of memory"}
    said = "CUDA out of memory (in 1 of 2 processes)"
    assert merged_phase([phase(1), full]) == full | {"reason": said}
    assert merged_phase([full, full]) == full


def test_a_study_says_in_how_many_processes_a_phase_failed_whichever_it_was() -> None:
    about = {"measurement": "phase", "phase": "forward"}
    full = {"status": "oom", "reason": "CUDA out of memory"}
    around = {key: value for key, value in result(0).items() if key != "phases"}
    rows = [full, phase(1), phase(2)]
    point = merged([around | {"rows": [about | row]} for row in rows], tuple(about))
    assert point["rows"] == [about | full | {"reason": full["reason"] + " (in 1 of 3 processes)"}]


def test_spread_within_and_between_processes() -> None:
    """Two processes with medians of 10 and 30 ms; only the second varies: 20, 30, 40 ms."""
    ms = [10, 10, 10, 20, 30, 40]
    found = by_process([n * 10**6 for n in ms], [0, 0, 0, 1, 1, 1])
    assert found == {
        "processes": 2,
        "within_cv": pytest.approx(1 / 6),
        "fastest_ms": 10.0,
        "slowest_ms": 30.0,
    }


@pytest.mark.usefixtures("served_python")
def test_two_processes_measure_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.json"
    case = json.dumps(ROW | {"processes": 2})
    monkeypatch.setattr(sys, "argv", ["benchmark", "--case", case, "--output", str(output)])
    benchmark.main()
    found = json.loads(output.read_text())
    assert list(found["phases"]) == list(PHASES)
    assert all(row["process"] == [0, 0, 1, 1] for row in found["phases"].values())
    first, second = found["processes"]
    assert first["ended_at"] < second["started_at"]
    assert first["before"]["host_operation_us"] > 0 and second["after"]["host_operation_us"] > 0


@pytest.mark.usefixtures("served_python")
def test_a_process_that_fails_is_named() -> None:
    with pytest.raises(StageError, match=r"process 1 of 2 ended with status 1; its own message"):
        in_fresh_processes("workflow_src.measure.benchmark", {"case": "t", "processes": 2})


def process(before: float, after: float, **state: float) -> dict[str, Any]:
    name = "host_operation_us"
    times = {"started_at": "start", "ended_at": "end"}
    return {"before": {name: before} | state, "during": {}, "after": {name: after}} | times


def test_what_processes_saw_of_their_host_is_put_together() -> None:
    """The most change of its speed, its median speed, and the highest load."""
    around = [process(1.0, 1.0, load_average=0.5), process(1.0, 1.3, load_average=9.0)]
    around += [process(2.0, 1.0, load_average=0.5)]
    found = result(0) | {"processes": around, "environment": {"cpu_cores": 2}}
    seen = doubts(found)
    assert seen["host_change_most"] == 2.0
    row = environment(found, "torch 2").iloc[0]
    assert (row["host_operation_us_before"], row["load_average_before"]) == (1.0, 9.0)
