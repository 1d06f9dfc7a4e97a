import json
from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.common.summary import spread
from workflow_src.measure import phases
from workflow_src.measure.oom import attempt
from workflow_src.plan.config import load
from workflow_src.studies.join_points import join
from workflow_src.studies.models import case_of
from workflow_src.studies.rows import filled
from workflow_src.studies.section import read_table
from workflow_src.studies.warmup import analyze as warmup
from workflow_src.studies.warmup.analyze import SETTLED_WITHIN, settled_after, settled_median
from workflow_src.studies.warmup.measure import measure
from workflow_src.studies.warmup.points import points
from workflow_src.studies.warmup.section import SECTION
from workflow_src.traces.families import load_rules

ROOT = Path(__file__).parent.parent
SETTINGS = load(ROOT / "config.yaml")
RULES = load_rules(ROOT / "workflow_src" / "traces" / "families.csv")
MS = 1_000_000
COLD = [90, 14, 12, 11, 10, 10, 10, 10]
ABOUT = {"config": "t", "size": "t", "context": 8, "batch": 1, "phase": "forward"}
OOM = {"status": "oom", "reason": "CUDA out of memory"}


def raw(warmup_steps: int, steps: list[float], **other: object) -> dict[str, object]:
    """A row as it is measured."""
    ns = [round(step * MS) for step in steps]
    about = ABOUT | {"warmup_steps": warmup_steps, "status": "ok", "reason": ""}
    return about | {"warmup_ns": ns[:warmup_steps], "samples_ns": ns[warmup_steps:]} | other


def joined(folder: Path, *rows: dict[str, object]) -> pd.DataFrame:
    """The table of raw rows, as the study's command writes it and its section reads it."""
    result = {"point": {"point": "p"}, "rows": rows, "environment": {"gpu": "NVIDIA H200"}}
    (folder / "p.json").write_text(json.dumps(result))
    join([folder / "p.json"], warmup.derive, RULES).to_csv(folder / "t.csv", index=False)
    return read_table(folder / "t.csv")


def text(folder: Path, *rows: dict[str, object]) -> str:
    table = joined(folder, *rows)
    assert "<svg" in SECTION.svg(table)
    templates = ROOT / "report_templates"
    return SECTION.markdown(table, templates) + SECTION.appendix(table, templates)


def test_sizes_and_vocabulary_are_those_of_the_configuration():
    large = SETTINGS["sizes"]["large"]
    settings = SETTINGS | {"vocabulary": 77, "sizes": {"large": large | {"d_ff": 99}}}
    found = points("cuda", "full", settings)
    assert {point["size"] for point in found} == {"large"}
    case = case_of(found[0] | {"device": "cuda"}, "large", "fp32")
    assert (case.vocabulary, case.d_ff, case.layers, case.d_head) == (77, 99, 36, 64)
    assert (case.case, case.context, case.batch) == ("large-ctx256-fp32", 256, 4)


def test_a_point_is_one_run_of_one_size():
    ids = [point["point"] for point in points("cuda", "full", SETTINGS)]
    assert ids == [
        f"{size}-ctx256-warmup{steps}" for size in ("small", "large") for steps in (0, 1, 5)
    ]
    assert len(points("cpu", "small", SETTINGS)) == 3


def test_numbers_of_known_steps(tmp_path):
    (found,) = joined(tmp_path, raw(1, COLD)).to_dict("records")
    assert found["total_ms"] == 167
    assert found["warmup_ms"] == 90
    assert found["first_step_ms"] == 90
    assert found["settled_ms"] == 10
    assert found["settled_after_steps"] == 3
    assert found["samples"] == 7
    assert found["mean_ms"] == 11
    assert found["median_ms"] == 10
    assert found["std_ms"] == pytest.approx((7 / 3) ** 0.5)
    assert found["p20_ms"] == pytest.approx(10.0)


def test_what_is_derived_and_from_what():
    cold, gone = raw(0, COLD[:2]), ABOUT | {"warmup_steps": 0} | OOM
    assert warmup.derive({}, [cold, gone]) == [
        cold
        | {
            "total_ms": 104,
            "warmup_ms": 0,
            "first_step_ms": 90,
            "settled_ms": 14,
            "settled_after_steps": 1,
        },
        gone,
    ]


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


def test_the_first_step_is_told_and_the_warmup_that_is_enough(tmp_path):
    said = text(
        tmp_path, raw(0, [90.05, *COLD[1:]]), raw(1, [90, *[10] * 8]), raw(5, [90, *[10] * 12])
    )
    assert "The first forward step of a process takes 9.00 times as long as a settled one" in said
    assert "1 warm-up step is the fewest tried from which on all means lie within 5 %" in said
    assert "with 0, the mean is up to +108.8 % off (t, forward)." in said
    (line,) = [line for line in said.splitlines() if line.startswith("| t, forward")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:] == ["90.0", "10.0", "9.00", "80.0", "+108.8 %", "+0.0 %", "+0.0 %"]
    assert "**Why.**" not in said, "one size says nothing of a cost that all sizes share"


def test_a_flat_run_needs_no_warmup(tmp_path):
    said = text(tmp_path, raw(0, [10] * 6), raw(1, [10] * 6))
    assert "takes 1.00 times as long as a settled one in t." in said
    assert "even without warm-up all means lie within 5 %" in said


def test_a_run_that_does_not_settle_is_said_to(tmp_path):
    said = text(tmp_path, raw(0, [90, 10, 10, 10, 10, 30]))
    assert "No warm-up tried brings all means within 5 %" in said
    assert "1 of 1 runs is unsteady to the end: even the last step is over 10 % off" in said
    assert "not within the run" in said


def test_a_first_step_that_costs_the_same_in_two_sizes_is_a_cost_of_the_process(tmp_path):
    long = raw(0, [180, *[100] * 7], size="u")
    said = text(tmp_path, raw(0, [90, *[10] * 7]), long)
    assert "In forward, the first step costs 80.0 ms more than a settled one in t and 80.0" in said
    assert "although a settled step of u takes 10.0 times as long. It is a cost of the" in said
    other = text(tmp_path, raw(0, [90, *[10] * 7]), raw(0, [300, *[100] * 7], size="u"))
    assert "costs 80.0 ms more than a settled one in t and 200 ms more in u." in other
    assert "cost of the process" not in other


def test_a_longer_warmup_that_is_worse_is_told(tmp_path):
    late = raw(5, [90, *[10] * 4, *[16] * 4, *[10] * 11])
    said = text(tmp_path, raw(0, COLD), raw(1, [90, *[10] * 8]), late)
    assert "With 1 warm-up step all means lie within 5 % of the settled median, but not" in said
    assert "but not with 0 (+108.7 % in t, forward) and 5 (+16.0 % in t, forward)." in said


def test_a_run_that_never_settles_is_no_reason_for_less_warmup(tmp_path):
    loose = raw(5, [90, *[10] * 14, *[16] * 5])
    said = text(tmp_path, raw(0, COLD), raw(1, [90, *[10] * 8]), loose)
    assert "1 warm-up step is enough wherever a run is steady: all means then lie within" in said
    assert "; with 0, the mean is up to +108.7 % off (t, forward)." in said
    assert "of t, forward with 5 warm-up steps comes from a run that is unsteady to its" in said


def test_a_late_mean_spoils_a_shorter_warmup_that_looked_enough(tmp_path):
    # Without warm-up the mean is right; with 1 step it is 10 % too high.
    table = joined(tmp_path, raw(0, [10] * 4), raw(1, COLD), raw(5, [10] * 9))
    assert warmup.enough(warmup.compared(table)) == 5


def test_running_out_of_memory_is_a_row(tmp_path):
    said = text(tmp_path, ABOUT | {"warmup_steps": 0} | OOM)
    assert "No step was measured." in said
    assert "OOM" in said
    assert "CUDA out of memory" in said


def test_only_out_of_memory_is_caught():
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


def test_a_point_is_measured_in_both_phases(tmp_path):
    point = points("cpu", "small", SETTINGS)[1] | {"device": "cpu", "context": 16, "steps": 3}
    rows = measure(point)
    assert [row["phase"] for row in rows] == ["forward", "forward_backward"]
    about = ["config", "size", "context", "batch", "warmup_steps"]
    sizes = ["d_model", "d_ff", "layers", "heads"]
    outcome = ["phase", "status", "reason", "warmup_ns", "samples_ns"]
    for row in rows:
        assert list(row) == [*about, *sizes, *outcome], "what is derived is not measured"
        assert (len(row["warmup_ns"]), len(row["samples_ns"])) == (1, 3)
    for row in joined(tmp_path, *rows).to_dict("records"):
        assert row["status"] == "ok"
        assert row["samples"] == 3
        assert row["warmup_ms"] == row["first_step_ms"] > 0
        assert row["total_ms"] == pytest.approx(row["warmup_ms"] + 3 * row["mean_ms"])
        assert (row["d_model"], row["d_ff"], row["layers"], row["heads"]) == (128, 512, 2, 4)


def test_after_one_phase_ran_out_of_memory_the_next_is_skipped(monkeypatch):
    def full(self):
        raise torch.OutOfMemoryError("CUDA out of memory. x")

    monkeypatch.setattr(phases.Workload, "forward", full)
    rows = measure(points("cpu", "small", SETTINGS)[0] | {"device": "cpu"})
    assert [row["status"] for row in rows] == ["oom", "skipped"]
    assert "forward, which ran out" in rows[1]["reason"]


def test_a_model_that_does_not_fit_is_measured_in_no_phase(monkeypatch):
    def full(case):
        raise torch.OutOfMemoryError("CUDA out of memory. x")

    monkeypatch.setattr(phases, "Workload", full)
    rows = measure(points("cpu", "small", SETTINGS)[0] | {"device": "cpu"})
    assert [row["status"] for row in rows] == ["oom", "skipped"]
    assert rows[1]["reason"] == "the model itself did not fit"
