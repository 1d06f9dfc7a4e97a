"""A GPU's clock and power during steps: which readings a row has, and what becomes of them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from workflow_src.common.environment import POWER_CAP
from workflow_src.measure import gpu_state
from workflow_src.tables.machine import doubts
from workflow_src.tables.timings import timings

FAST, SLOW = [1980, 400.0, []], [1500, 700.0, [POWER_CAP]]


def test_a_row_has_the_readings_made_while_it_ran() -> None:
    rows: dict[str, dict[str, Any]] = {
        "forward": {"status": "ok", "window_ns": [10, 20]},
        "train_step": {"status": "oom"},
    }
    gpu_state.add_readings(rows, [[9, *SLOW], [10, *FAST], [15, *FAST], [21, *SLOW]])
    assert rows == {
        "forward": {"status": "ok", "readings": [FAST, FAST]},
        "train_step": {"status": "oom"},
    }


def test_a_cpu_is_not_read() -> None:
    with gpu_state.watched("cpu") as found:
        pass
    assert found == []


def test_another_process_reads_until_it_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A line that it was writing when it was ended is left out."""
    program = tmp_path / "python"
    lines = json.dumps([5, *FAST]) + "\n[6, 19"
    started = tmp_path / "started"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{lines}'\ntouch {started}\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with gpu_state.watched("cuda") as found:
        while not started.exists():
            pass
    assert found == [[5, *FAST]]


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
