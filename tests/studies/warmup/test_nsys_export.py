import json
from pathlib import Path

import pytest

from tests.simulated_gpu import MAIN, Recording
from workflow_src.common.errors import TraceError
from workflow_src.studies.warmup import cause as cause_of
from workflow_src.studies.warmup.host_time import (
    split,
)
from workflow_src.studies.warmup.nsys_export import recorded

LAUNCH, MALLOC, WAIT = "cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaDeviceSynchronize_v3020"


OTHER = MAIN + 1
"""Another thread of the process, such as autograd's."""


def capture(folder: Path, steps: int = 4) -> Path:
    """An export with steps of 1,000 ns: a launch each, whose first takes longer, and a wait."""
    recording = Recording()
    now = 0
    for phase, kernel in (("forward", "k"), ("forward_backward", "l")):
        for number in range(steps):
            took = 600 if number == 0 else 10 + number
            recording.range(phase, now, now + 1_000)
            recording.range("forward", now + 50, now + 900)  # The model's own, inside the step.
            recording.kernel((now + 100, now + 100 + took), (now + 800, now + 850), kernel)
            recording.call(WAIT, now + 800, now + 900)
            number_of = recording.names["cudaLaunchKernel_v7000"]
            recording.calls.append((now + 90, now + 95, OTHER, None, number_of))
            now += 2_000
    return recording.write(folder) / "trace.sqlite"


def test_a_point_keeps_the_steps_and_calls_of_an_export(tmp_path):
    row = cause_of.traced_row(capture(tmp_path), 4)
    assert json.loads(json.dumps(row)) == row
    starts = range(0, 16_000, 2_000)
    ranges = [[start, start + 1_000] for start in starts]
    assert row["steps"] == {"forward": ranges[:4], "forward_backward": ranges[4:]}
    launch = "cudaLaunchKernel_v7000"
    assert row["calls"] == [
        {"name": launch, "kernels": ["k"]},
        {"name": WAIT, "kernels": []},
        {"name": launch, "kernels": ["l"]},
        {"name": launch, "kernels": []},
    ]
    main, other = row["threads"]
    assert main["call"] == [0, 1] * 4 + [2, 1] * 4
    assert main["later_ns"] == [100, *[700, 1_300] * 7, 700]
    assert main["took_ns"][:4] == [600, 100, 11, 100]
    assert other == {"call": [3] * 8, "later_ns": [90, *[2_000] * 7], "took_ns": [5] * 8}
    with pytest.raises(TraceError, match="nsys recorded 4 of 6 steps of forward"):
        cause_of.traced_row(tmp_path / "trace.sqlite", 6)
    (tmp_path / "empty.sqlite").write_bytes(b"")
    with pytest.raises(TraceError, match="no such table: NVTX_EVENTS"):
        cause_of.traced_row(tmp_path / "empty.sqlite", 6)


def test_what_a_point_keeps_is_split_into_a_row_per_phase_and_step(tmp_path):
    rows = split(cause_of.traced_row(capture(tmp_path), 4))
    assert [(row["phase"], row["step"]) for row in rows] == [
        (phase, step) for phase in ("forward", "forward_backward") for step in range(4)
    ]
    assert {(row["sweep"], row["status"], row["reason"]) for row in rows} == {("traced", "ok", "")}
    first, second = rows[:2]
    assert first["wall_ns"] == 1_000 and first["kernels"] == 1
    assert first["ns"] == {
        "first_launch": 600, "launch": 5, "load": 0, "synchronize": 100, "allocate": 0,
        "other_call": 0, "outside": 295,
    }  # fmt: skip
    assert (second["ns"]["first_launch"], second["ns"]["launch"]) == (0, 11 + 5)
    assert [row["kernels"] for row in rows] == [1, 0, 0, 0, 1, 0, 0, 0]


def test_a_kernel_that_ran_between_steps_is_not_launched_for_the_first_time_in_one(tmp_path):
    recording = Recording()
    recording.kernel((10, 20), (30, 40), "before the first step")
    recording.range("forward", 100, 200)
    recording.kernel((110, 120), (130, 140), "before the first step")
    recording.kernel((210, 220), (230, 240), "between steps")
    recording.range("forward", 300, 400)
    recording.kernel((310, 320), (330, 340), "between steps")
    recording.kernel((330, 345), (350, 360), "new")
    rows = split(recorded(recording.write(tmp_path) / "trace.sqlite", ("forward",)))
    assert [row["kernels"] for row in rows] == [0, 1]
    assert [row["ns"]["launch"] for row in rows] == [10, 10]
    assert rows[1]["ns"]["first_launch"] == 15
