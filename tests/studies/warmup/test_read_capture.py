import json
import sqlite3
from contextlib import closing

from tests.simulated_gpu import Recording
from tests.studies.warmup.first_steps import LAUNCH, WAIT, capture
from workflow_src.studies.warmup import cause as cause_of
from workflow_src.studies.warmup.host_time import split
from workflow_src.studies.warmup.read_capture import kept, recorded


def test_a_point_keeps_the_steps_and_calls_of_an_export(tmp_path):
    row = cause_of.read_export(capture(tmp_path), 4)
    assert json.loads(json.dumps(row)) == row
    starts = range(0, 16_000, 2_000)
    ranges = [[start, start + 1_000] for start in starts]
    assert row["steps"] == {"forward": ranges[:4], "forward_backward": ranges[4:]}
    assert row["calls"] == [
        {"name": LAUNCH, "kernels": ["k"]},
        {"name": WAIT, "kernels": []},
        {"name": LAUNCH, "kernels": ["l"]},
        {"name": LAUNCH, "kernels": []},
    ]
    main, other = row["threads"]
    assert main["call"] == [0, 1] * 4 + [2, 1] * 4
    assert main["later_ns"] == [100, *[700, 1_300] * 7, 700]
    assert main["took_ns"][:4] == [600, 100, 11, 100]
    assert other == {"call": [3] * 8, "later_ns": [90, *[2_000] * 7], "took_ns": [5] * 8}


def test_a_point_says_why_it_keeps_no_steps(tmp_path):
    export = capture(tmp_path)
    fewer = {"status": "skipped", "reason": "nsys recorded 4 of 6 steps of forward"}
    assert kept(export, cause_of.PHASES, 6) == fewer
    with closing(sqlite3.connect(export)) as connection, connection:
        connection.execute("UPDATE NVTX_EVENTS SET end = NULL WHERE start > 14000")
    assert kept(export, cause_of.PHASES, 4)["reason"].startswith("nsys recorded a range without an")
    with closing(sqlite3.connect(export)) as connection, connection:
        connection.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = NULL WHERE start < 200")
    assert "2 bad calls in the capture" in kept(export, cause_of.PHASES, 4)["reason"]
    (tmp_path / "empty.sqlite").write_bytes(b"")
    assert "empty" in kept(tmp_path / "empty.sqlite", cause_of.PHASES, 4)["reason"]


def test_what_a_point_keeps_is_split_into_a_row_per_phase_and_step(tmp_path):
    rows = split(kept(capture(tmp_path), cause_of.PHASES, 4))
    assert [(row["phase"], row["step"]) for row in rows] == [
        (phase, step) for phase in ("forward", "forward_backward") for step in range(4)
    ]
    assert {(row["status"], row["reason"]) for row in rows} == {("ok", "")}
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
