"""A GPU's clock and power during steps: which readings a row has, and what becomes of them."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from workflow_src.common.environment import POWER_CAP
from workflow_src.measure import gpu_state
from workflow_src.tables.measured import doubts, timings

FAST, SLOW = [1980, 400.0, []], [1500, 700.0, [POWER_CAP]]


def test_a_row_has_the_readings_made_while_it_ran_and_all_tell_of_other_processes() -> None:
    rows: dict[str, dict[str, Any]] = {
        "forward": {"status": "ok", "window_ns": [10, 20]},
        "train_step": {"status": "oom"},
    }
    readings = [(9, SLOW, [4711, os.getpid()]), (10, FAST, []), (15, FAST, [4711]), (21, SLOW, [7])]
    gpu_state.add_readings(rows.values(), readings)
    assert rows == {
        "forward": {"status": "ok", "readings": [FAST, FAST]},
        "train_step": {"status": "oom"},
    }
    assert gpu_state.neighbors(readings) == {"other_processes": 2}
    assert gpu_state.neighbors([]) == {}


def test_another_process_reads_until_it_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A line that it was writing when it was ended is left out."""
    program = tmp_path / "python"
    lines = json.dumps([5, FAST, []]) + "\n[6, 19"
    started = tmp_path / "started"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{lines}'\ntouch {started}\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    found: list[gpu_state.Reading] = []
    with gpu_state.watched("cpu", found):
        assert not started.exists(), "of a CPU nothing is read"
    with gpu_state.watched("cuda", found):
        while not started.exists():
            pass
    assert found == [[5, FAST, []]]


def test_some_readings_name_who_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Any] = {
        "nvmlInit": None, "nvmlShutdown": None, "nvmlDeviceGetHandleByUUID": "a handle",
        "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=4712)],
        "nvmlDeviceGetClockInfo": 1980, "nvmlDeviceGetFieldValues": [
            SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=400_000))
        ],
        "nvmlDeviceGetCurrentClocksThrottleReasons": 0,
    }  # fmt: skip
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, lambda *unused, answer=answer: answer)
    monkeypatch.setattr(gpu_state, "cuda_devices", lambda: ["GPU-a"])
    pauses = iter([None] * gpu_state.LOOK_EVERY)
    monkeypatch.setattr(gpu_state.time, "sleep", lambda seconds: next(pauses))
    with pytest.raises(StopIteration):
        gpu_state.read()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {tuple(map(str, load)) for _, load, _ in lines} == {tuple(map(str, FAST))}
    others = [[]] * (gpu_state.LOOK_EVERY - 1)
    assert [seen for _, _, seen in lines] == [[4712], *others, [4712]]


def test_clock_and_power_are_medians_over_the_readings() -> None:
    phase = {"status": "ok", "reason": "", "samples_ns": [1], "peak_memory_mib": 1.0}
    (row,) = timings({"phases": {"forward": phase | {"readings": [FAST, SLOW, FAST]}}}).to_dict(
        "records"
    )
    assert (row["sm_clock_mhz"], row["sm_clock_least_mhz"], row["sm_clock_most_mhz"]) == (
        1980,
        1500,
        1980,
    )
    assert row["power_w"] == 400 and row["power_capped_share"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("why", "throttled"), [([POWER_CAP], ""), (["hardware slowdown"], "hardware slowdown")]
)
def test_a_limit_during_steps_is_a_doubt_unless_it_is_that_of_power(
    why: list[str], throttled: str
) -> None:
    """timings.csv tells of power by phase; readings before and after don't then."""
    phases = {"forward": {"status": "ok", "readings": [[1500, 700.0, why]]}}
    around = {"before": {}, "after": {"throttle": [POWER_CAP]}}
    assert doubts(around | {"phases": phases})["throttled"] == throttled
    assert doubts(around)["throttled"] == POWER_CAP
