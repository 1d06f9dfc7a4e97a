from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.studies.outcomes import attempt, spread
from workflow_src.studies.rows import filled
from workflow_src.studies.section import read_table, section
from workflow_src.studies.sizes import SIZES, sized_case
from workflow_src.studies.warmup import analyze as warmup
from workflow_src.studies.warmup.steps import (
    SETTLED_WITHIN,
    describe,
    settled_after,
    settled_median,
)

ROOT = Path(__file__).parent.parent
MS = 1_000_000
COLD = [90, 14, 12, 11, 10, 10, 10, 10]
ABOUT = {"config": "t", "size": "t", "context": 8, "batch": 1, "phase": "forward"}


def test_sizes_are_those_of_the_configuration():
    import yaml

    configured = yaml.safe_load((ROOT / "config.yaml").read_text())["sizes"]
    assert {size: configured[size] for size in SIZES} == SIZES
    assert sized_case("large", "cuda", 256, 4).d_head == 64


def test_a_point_is_one_run_of_one_size():
    ids = [point["point"] for point in warmup.points("cuda", "full")]
    assert ids == [
        f"{size}-ctx256-warmup{steps}" for size in ("small", "large") for steps in (0, 1, 5)
    ]
    assert len(warmup.points("cpu", "small")) == 3


def test_numbers_of_known_steps():
    found = describe([ms * MS for ms in COLD[:1]], [ms * MS for ms in COLD[1:]])
    assert found["total_ms"] == 167
    assert found["warmup_ms"] == 90
    assert found["first_step_ms"] == 90
    assert found["settled_ms"] == 10
    assert found["settled_after_steps"] == 3
    assert found["mean_ms"] == 11
    assert found["median_ms"] == 10
    assert found["std_ms"] == pytest.approx((7 / 3) ** 0.5)
    assert found["p20_ms"] == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([10, 10, 10, 10], 0),
        ([11, 10, 10, 10], 0),
        ([11.1, 10, 10, 10], 1),
        ([10, 30, 10, 10], 2),
        ([10, 10, 10, 30], None),
        ([5], 0),
    ],
)
def test_settled_from_the_first_step_after_which_all_lie_near(steps, expected):
    assert settled_after(steps) == expected


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=40))
def test_after_settling_all_steps_lie_near_and_the_step_before_does_not(steps):
    after, settled = settled_after(steps), settled_median(steps)
    far = [abs(step - settled) > SETTLED_WITHIN * settled for step in steps]
    if after is None:
        assert far[-1]
    else:
        assert not any(far[after:])
        assert after == 0 or far[after - 1]


def run(warmup_steps: int, steps: list[float], **other: object) -> dict[str, object]:
    samples = [round(step * MS) for step in steps]
    found = describe(samples[:warmup_steps], samples[warmup_steps:])
    status = {"status": "ok", "reason": "", "warmup_steps": warmup_steps}
    return ABOUT | status | found | other


def text(tmp_path, *rows: dict[str, object]) -> str:
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    warmup.draw(table, tmp_path / "f.svg")
    assert "<svg" in (tmp_path / "f.svg").read_text()
    return section("warmup", table, ROOT / "report_templates")


def test_the_first_step_is_told_and_the_warmup_that_is_enough(tmp_path):
    said = text(
        tmp_path, run(0, [90.05, *COLD[1:]]), run(1, [90, *[10] * 8]), run(5, [90, *[10] * 12])
    )
    assert "the first step is over 10 % slower in all 3 runs: it takes 9.00 times" in said
    assert "+108.8 % with 0, +0.0 % with 1, +0.0 % with 5" in said
    assert "1 warm-up step is the fewest tried" in said
    assert "after 1 to 3 steps" in said


def test_a_flat_run_needs_no_warmup(tmp_path):
    said = text(tmp_path, run(0, [10] * 6), run(1, [10] * 6))
    assert "the first step lies within 10 % in all 2 runs" in said
    assert "even without warm-up all means lie within 5 %" in said


def test_a_run_that_does_not_settle_is_said_to(tmp_path):
    said = text(tmp_path, run(0, [90, 10, 10, 10, 10, 30]))
    assert "no warm-up tried brings all means within 5 %" in said
    assert "In none of the 1 runs" in said
    assert "not within the run" in said


def test_a_late_mean_spoils_a_shorter_warmup_that_looked_enough():
    rows = [run(0, [10] * 4), run(1, COLD), run(5, [10] * 9)]
    compared = warmup.compared(pd.DataFrame(rows))
    assert warmup.enough(compared) == 5


def test_running_out_of_memory_is_a_row(tmp_path):
    oom = ABOUT | {"warmup_steps": 0, "status": "oom", "reason": "CUDA out of memory"}
    said = text(tmp_path, oom)
    assert "No step was measured." in said
    assert "OOM" in said
    assert "CUDA out of memory" in said


def test_only_out_of_memory_is_caught():
    import torch

    released = []

    def full():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    row = attempt(full, lambda: released.append(True))
    assert row == {"status": "oom", "reason": "CUDA out of memory"}
    assert released == [True]
    with pytest.raises(ZeroDivisionError):
        attempt(lambda: {"a": 1 // 0}, lambda: None)
    assert attempt(lambda: {"a": 1}, lambda: None) == {"status": "ok", "reason": "", "a": 1}


def test_a_number_that_is_not_there_is_none():
    assert spread([MS])["std_ms"] is None
    assert filled(pd.DataFrame({"a": [1.0, float("nan")], "b": ["", "x"]})) == [
        {"a": 1.0, "b": None},
        {"a": None, "b": "x"},
    ]


def test_a_point_is_measured_in_both_phases():
    point = warmup.points("cpu", "small")[1] | {"device": "cpu", "context": 16, "steps": 3}
    rows = warmup.measure(point)
    assert [row["phase"] for row in rows] == ["forward", "forward_backward"]
    for row in rows:
        assert row["status"] == "ok"
        assert row["samples"] == 3
        assert row["warmup_ms"] == row["first_step_ms"] > 0
        assert row["total_ms"] == pytest.approx(row["warmup_ms"] + 3 * row["mean_ms"])
        assert (row["d_model"], row["d_ff"], row["layers"], row["heads"]) == (128, 512, 2, 4)


def test_after_one_phase_ran_out_of_memory_the_next_is_skipped(monkeypatch):
    import torch

    from workflow_src.studies.warmup import measure as warmup_measure

    def full(case):
        raise torch.OutOfMemoryError("CUDA out of memory. x")

    monkeypatch.setattr(warmup_measure, "Workload", full)
    rows = warmup.measure(warmup.points("cpu", "small")[0] | {"device": "cpu"})
    assert [row["status"] for row in rows] == ["oom", "skipped"]
    assert "forward, which ran out" in rows[1]["reason"]
