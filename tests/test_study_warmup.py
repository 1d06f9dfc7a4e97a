import json
import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.simulated_gpu import MAIN, Recording
from workflow_src.cli import check_numbers
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import TraceError
from workflow_src.common.schema import sentence, violation
from workflow_src.common.summary import spread
from workflow_src.measure import phases
from workflow_src.measure.oom import attempt
from workflow_src.plan.config import load
from workflow_src.studies.join_points import join
from workflow_src.studies.models import case_of
from workflow_src.studies.rows import filled
from workflow_src.studies.section import read_table
from workflow_src.studies.warmup import analyze as warmup
from workflow_src.studies.warmup import cause as cause_of
from workflow_src.studies.warmup.analyze import SETTLED_WITHIN, settled_after, settled_median
from workflow_src.studies.warmup.host_time import (
    CATEGORIES,
    Call,
    category_of,
    host_time,
    sorted_calls,
    split,
)
from workflow_src.studies.warmup.measure import measure
from workflow_src.studies.warmup.nsys_export import recorded
from workflow_src.studies.warmup.points import POINT, points
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
    ids = [point["point"] for point in points("cpu", "full", SETTINGS)]
    sizes = ("small", "medium", "large", "xl", "2.7B")
    assert ids == [f"{size}-ctx256-warmup{steps}" for size in sizes for steps in (0, 1, 5)]
    assert len(points("cpu", "small", SETTINGS)) == 3


def test_the_cause_is_a_point_of_the_smallest_and_the_largest_size_on_a_gpu():
    def causes(device, scale, settings=SETTINGS):
        found = points(device, scale, settings)
        return [point["point"] for point in found if point.get("cause")]

    assert causes("cuda", "full") == ["small-ctx256-cause", "2.7B-ctx256-cause"]
    assert causes("cuda", "small") == ["tiny-ctx64-cause"]
    assert causes("cpu", "full") == causes("cpu", "small") == []
    few = SETTINGS | {"sizes": {size: SETTINGS["sizes"][size] for size in ("medium", "xl")}}
    assert causes("cuda", "full", few) == ["medium-ctx256-cause", "xl-ctx256-cause"]
    assert causes("cuda", "full", SETTINGS | {"sizes": {}}) == []


def test_a_point_says_what_it_needs_of_its_kind():
    run, *_, cause = points("cuda", "small", SETTINGS)
    assert violation(run, POINT) is violation(cause, POINT) is None
    for point, key in ((run, "warmup_steps"), (cause, "repeats"), (cause, "steps")):
        less = {name: value for name, value in point.items() if name != key}
        assert sentence(violation(less, POINT)) == f"the key {key!r} is missing"
    assert "must be true or false" in sentence(violation(run | {"cause": 1}, POINT))


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
    assert (
        "Leaving out the first step is enough: with 1 warm-up step or more no mean is over 5 % "
        "above the settled median; with 0 one is up to 108.8 % above (t, forward).\n"
    ) in said
    assert "below" not in said
    (line,) = [line for line in said.splitlines() if line.startswith("| t, forward")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:] == ["90.0", "10.0", "9.00", "80.0", "+108.8 %", "+0.0 %", "+0.0 %"]
    assert "**Why.**" not in said, "one size says nothing of a cost that all sizes share"


def test_a_flat_run_needs_no_warmup(tmp_path):
    said = text(tmp_path, raw(0, [10] * 6), raw(1, [10] * 6))
    assert "takes 1.00 times as long as a settled one in t." in said
    assert (
        "Yet an average needs to leave out none: even without warm-up no mean is more than 5 % "
        "above the settled median.\n"
    ) in said


def test_a_run_that_does_not_settle_is_said_to(tmp_path):
    said = text(tmp_path, raw(0, [90, 10, 10, 10, 10, 30]))
    assert (
        "No warm-up tried is enough to bring every mean to at most 5 % above the settled median: "
        "with 0 steps one is 166.7 % above (t, forward).\n"
    ) in said
    assert (
        "In 1 of 1 runs even the last step is over 10 % off the settled median, so that this run "
        "doesn't settle: t, forward with 0 warm-up steps (10.0 to 30.0 ms, 20th to 80th "
        "percentile).\n"
    ) in said
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
    assert (
        "With 1 warm-up step no mean is over 5 % above the settled median, but with 0 (108.7 % in "
        "t, forward) and 5 (16.0 % in t, forward) one is.\n"
    ) in said


def test_a_run_that_never_settles_is_no_reason_for_less_warmup(tmp_path):
    loose = raw(5, [90, *[10] * 4, *[16] * 4, *[10] * 10, 12])
    said = text(tmp_path, raw(0, COLD), raw(1, [90, *[10] * 8]), loose)
    assert (
        "Leaving out the first step is enough in all runs that settle, those whose last step is at "
        "most 10 % off the settled median: no mean of theirs is then over 5 % above the settled "
        "median; with 0 warm-up steps one is up to 108.7 % above (t, forward).\n"
        "The mean of t, forward with 5 warm-up steps, 17.3 % above, is of a run that doesn't "
        "settle, which no warm-up can help.\n"
    ) in said


def test_a_mean_below_the_settled_median_is_not_too_little_warmup(tmp_path):
    slower = raw(5, [90, *[10] * 7, *[14] * 7])
    said = text(tmp_path, raw(0, COLD), raw(1, [90, *[10] * 8]), slower)
    assert "Leaving out the first step is enough: with 1 warm-up step or more no mean is" in said
    assert (
        "In 1 of 3 runs the mean is over 5 % below the settled median: later steps took longer "
        "than earlier ones, which no warm-up can help. It is 8.6 % below 14.0 ms in t, forward "
        "with 5 warm-up steps (in the other runs the settled median is 10.0 ms).\n"
    ) in said
    assert "No warm-up tried" not in said and "off" not in said
    alone = text(tmp_path, raw(0, [*[10] * 7, *[14] * 7]))
    assert "It is 14.3 % below 14.0 ms in t, forward with 0 warm-up steps.\n" in alone


def test_each_run_that_grew_slower_is_named_beside_the_others(tmp_path):
    slower = [90, *[10] * 7, *[14] * 7]
    table = joined(tmp_path, raw(0, COLD), raw(1, slower), raw(5, slower), raw(5, slower, size="u"))
    found = warmup.below(warmup.compared(table))
    assert [(run["named"], run["warmup_steps"]) for run in found] == [
        ("t, forward", 1),
        ("t, forward", 5),
        ("u, forward", 5),
    ]
    assert [run["others"] for run in found] == [[10, 14], [10, 14], []]
    said = SECTION.markdown(table, ROOT / "report_templates")
    lost = [number for number in check_numbers.section(said, table, "warmup") if not number.sources]
    assert lost == []
    assert "settled median is 10.0 to 14.0 ms), 8.6 % below" in said


def test_the_only_run_that_does_not_settle_is_not_called_the_widest(tmp_path):
    wide = raw(1, [90, *[10, 30] * 4, *[10] * 12])
    loose = raw(5, [90, *[10] * 12, 12])
    said = text(tmp_path, wide, loose)
    assert "In 1 of 2 runs even the last step is over 10 % off the settled median" in said
    assert "settle: t, forward with 5 warm-up steps (10.0 to 10.0 ms, 20th" in said
    assert "widest" not in said
    both = text(tmp_path, raw(1, [90, *[10] * 12, 12]), raw(5, [90, *[8, 10, 12] * 6, 12]))
    assert "so that these runs don't settle: among them t, forward with 5 warm-up steps" in both


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


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("cudaLaunchKernel_v7000", "launch"),
        ("cudaLaunchKernelExC_v11060", "launch"),
        ("cuLaunchKernelEx", "launch"),
        ("cudaGraphLaunch_v10000", "launch"),
        ("cudaMalloc_v3020", "allocate"),
        ("cudaHostAlloc_v3020", "allocate"),
        ("cudaFree_v3020", "allocate"),
        ("cuMemAlloc_v2", "allocate"),
        ("cuMemRelease", "allocate"),
        ("cuMemCreate", "allocate"),
        ("cuMemMap", "allocate"),
        ("cuMemAddressReserve", "allocate"),
        ("cuMemSetAccess", "allocate"),
        ("cuLibraryLoadData", "load"),
        ("cuLibraryGetKernel", "load"),
        ("cuModuleLoadDataEx", "load"),
        ("cuModuleGetFunction", "load"),
        ("cuKernelGetFunction", "load"),
        ("cudaFuncGetAttributes_v3020", "load"),
        ("cudaDeviceSynchronize_v3020", "synchronize"),
        ("cudaEventSynchronize_v3020", "synchronize"),
        ("cudaMemcpyAsync_v3020", "other_call"),
        ("cudaStreamIsCapturing_v10000", "other_call"),
        ("cudaMemsetAsync_v3020", "other_call"),
        ("cudaMemGetInfo_v3020", "other_call"),
    ],
)
def test_what_a_call_does_by_its_name(name, category):
    assert category_of(name) == category


LAUNCH, MALLOC, WAIT = "cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaDeviceSynchronize_v3020"
OTHER = MAIN + 1
"""Another thread of the process, such as autograd's."""


def test_the_parts_of_a_step_add_up_with_nested_calls_and_two_threads():
    calls = [
        Call(1, 110, 150, LAUNCH, ("a",)),
        Call(1, 120, 130, "cuLibraryLoadData"),  # A part of the launch around it.
        Call(2, 140, 170, MALLOC),  # The first 10 ns are the launch's, which began before.
        Call(1, 145, 149, MALLOC),  # Nested, too.
        Call(1, 155, 160, LAUNCH, ("a",)),  # Hidden by the other thread's call, but counted.
        Call(1, 180, 190, LAUNCH, ("b", "a")),
        Call(1, 190, 220, WAIT),  # Goes on after the step.
        Call(2, 90, 105, "cudaMemcpyAsync_v3020"),  # Began before the step.
    ]
    found = host_time(100, 200, sorted_calls(calls))
    assert found.wall_ns == 100 == sum(found.ns.values())
    assert found.ns == dict.fromkeys(CATEGORIES, 0) | {
        "other_call": 5,
        "first_launch": 40 + 10,
        "allocate": 20,
        "synchronize": 10,
        "outside": 5 + 10,
    }
    assert found.calls == {
        "first_launch": 2, "launch": 1, "load": 0, "synchronize": 1, "allocate": 1, "other_call": 0,
    }  # fmt: skip
    assert found.kernels == 2


def test_a_kernel_launched_inside_another_call_is_launched_by_it():
    inner = Call(1, 2, 8, "cuLaunchKernel", ("a",))
    first, again = Call(1, 0, 9, LAUNCH), Call(1, 10, 12, LAUNCH, ("a",))
    found = sorted_calls([again, inner, first])
    assert [(call.category, call.new_kernels) for call in found] == [
        ("first_launch", 1),
        ("launch", 0),
    ]


CALLS = st.builds(
    lambda thread, start, length, name, kernel: Call(thread, start, start + length, name, kernel),
    st.integers(1, 3),
    st.integers(0, 300),
    st.integers(0, 80),
    st.sampled_from([LAUNCH, MALLOC, WAIT, "cuLibraryLoadData", "cudaMemcpyAsync_v3020"]),
    st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
)


@given(st.lists(CALLS, max_size=30))
def test_the_parts_of_any_steps_add_up_exactly(calls):
    ordered = sorted_calls(calls)
    found = [host_time(start, start + 100, ordered) for start in (50, 150, 250)]
    for time in found:
        assert sum(time.ns.values()) == time.wall_ns == 100
        assert min(time.ns.values()) >= 0
    in_all = host_time(50, 350, ordered)
    assert in_all.ns == {name: sum(time.ns[name] for time in found) for name in CATEGORIES}


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


@pytest.mark.parametrize("case", ["tiny-ctx64-fp32", "tiny-ctx64-bf16-sdpa-fused"])
def test_the_parts_of_recorded_steps_of_an_h200_add_up(case, tmp_path):
    phases = ("forward", "forward_backward", "train_step")
    found = recorded(ROOT / "tests" / "data" / "nsys" / case / "trace.sqlite", phases)
    calls = sum(len(thread["call"]) for thread in found["threads"])
    write_json(tmp_path / "point.json", {"rows": [found]})
    assert (tmp_path / "point.json").stat().st_size < 20 * calls + 40_000, "small enough to keep"
    rows = split(found)
    assert {row["phase"] for row in rows} == set(phases)
    for row in rows:
        assert sum(row["ns"].values()) == row["wall_ns"] > 0
    assert rows[0]["kernels"] > 3 and rows[0]["calls"]["first_launch"] > 3
    assert rows[1]["kernels"] == 0


def test_points_whose_steps_were_split_when_measured_are_read_as_before(tmp_path):
    published = ROOT / "examples" / "h200"
    held = json.loads((published / "studies" / "warmup" / "small-ctx256-cause.json").read_text())
    traced, *timed = held["rows"]
    point = tmp_path / "small-ctx256-cause.json"
    point.write_text(json.dumps(held | {"rows": [*split(traced), *timed]}))
    assert {"ns", "wall_ns"} < json.loads(point.read_text())["rows"][0].keys()
    join([point], warmup.derive, RULES).to_csv(tmp_path / "t.csv", index=False)
    made = filled(read_table(tmp_path / "t.csv"))
    table = filled(read_table(published / "tables" / "studies" / "warmup.csv"))
    expected = [row for row in table if row["point"] == point.stem]
    assert len(made) == len(expected) > 16
    for mine, row in zip(made, expected, strict=True):
        assert mine.items() <= row.items()
        assert {name for name in row if row[name] is not None} <= mine.keys()


def test_what_is_derived_of_a_capture_and_of_trials(tmp_path):
    about = {key: ABOUT[key] for key in ("config", "size", "context", "batch")}
    traced = about | cause_of.traced_row(capture(tmp_path), 4)
    timed = trials("forward", 0, "EAGER", [30, 12, 10, 10])
    rows = warmup.derive({"cause": True}, [traced, timed])
    whole, first = rows[:2]
    common = about | {"sweep": "traced", "status": "ok", "reason": "", "phase": "forward"}
    assert whole == common | {
        "part": "whole", "first_step_ms": 0.001, "settled_ms": 0.001, "extra_ms": 0.0,
    }  # fmt: skip
    assert first == common | {
        "part": "first_launch", "first_step_ms": 0.0006, "settled_ms": 0.0, "extra_ms": 0.0006,
        "first_calls": 1, "settled_calls": 0, "kernels": 1,
    }  # fmt: skip
    assert rows[2]["settled_ms"] == pytest.approx(0.0000175) and rows[2]["settled_calls"] == 2
    assert [row["part"] for row in rows[:8]] == ["whole", *CATEGORIES]
    assert len(rows) == 2 * 8 + 1
    assert rows[-1] == ABOUT | {
        "sweep": "loading", "loading": "EAGER", "process": 0, "status": "ok", "reason": "",
        "phase": "forward", "first_step_ms": 30.0, "settled_ms": 10.0, "extra_ms": 20.0,
        "build_ms": 500.0,
    }  # fmt: skip


def trials(phase: str, process: int, mode: str, steps: list[float], **other: object) -> dict:
    """A raw row of sweep loading."""
    ns = [round(step * MS) for step in steps]
    about = ABOUT | {"sweep": "loading", "phase": phase, "loading": mode, "process": process}
    build = {"LAZY": 200, "EAGER": 500}[mode] * MS
    return about | {"status": "ok", "reason": "", "build_ns": build, "steps_ns": ns} | other


def traced(phase: str, step: int, **ms: float) -> dict:
    """A step of sweep traced, with time in the categories of `ms`; the first runs 41 kernels."""
    ns = dict.fromkeys(CATEGORIES, 0) | {name: round(value * MS) for name, value in ms.items()}
    calls = {name: 3 for name in CATEGORIES if name != "outside"}
    row = ABOUT | {"sweep": "traced", "status": "ok", "reason": "", "phase": phase, "step": step}
    kernels = 0 if step else 41
    return row | {"wall_ns": sum(ns.values()), "ns": ns, "calls": calls, "kernels": kernels}


TRACED = [
    traced("forward", 0, first_launch=120.4, outside=50, synchronize=24.6, allocate=5),
    *(traced("forward", step, launch=2, outside=3, synchronize=5) for step in (1, 2, 3)),
]


def trial(lazy: float, eager: float) -> list[dict]:
    """Two processes of each mode; the other one of a mode is 2 ms slower."""
    firsts = {"LAZY": lazy, "EAGER": eager}
    return [
        trials("forward", process, mode, [firsts[mode] + process - process % 2, 9, 10, 10])
        for process, mode in enumerate(("LAZY", "EAGER", "LAZY", "EAGER"))
    ]


def cause_text(folder: Path, *rows: dict, run: bool = True) -> str:
    """The section and appendix of a run without warm-up and of the cause's rows."""
    for name, point, held in (
        ("a", {"point": "a"}, [raw(0, COLD)] if run else []),
        ("b", {"point": "b", "cause": True}, rows),
    ):
        result = {"point": point, "rows": held, "environment": {"gpu": "NVIDIA H200"}}
        (folder / f"{name}.json").write_text(json.dumps(result))
    table = join([folder / "a.json", folder / "b.json"], warmup.derive, RULES)
    table.to_csv(folder / "t.csv", index=False)
    table = read_table(folder / "t.csv")
    assert "<svg" in SECTION.svg(table)
    said = SECTION.markdown(table, ROOT / "report_templates")
    lost = [number for number in check_numbers.section(said, table, "warmup") if not number.sources]
    assert lost == []
    return said + SECTION.appendix(table, ROOT / "report_templates")


def test_the_section_says_what_first_steps_spend_their_time_on_and_that_loading_explains_it(
    tmp_path,
):
    said = cause_text(tmp_path, *TRACED, *trial(189, 44))
    assert (
        "- t, forward: of the 190 ms more under nsys, 120 ms go to launching 41 kernels for the "
        "first time, 47.0 ms to the host's work outside CUDA calls (Python, PyTorch and its "
        "libraries) and 19.6 ms to waiting for the device. Without nsys and with all code loaded "
        "early, the first step takes 45.0 ms instead of 190 ms "
        "(medians of 2 processes each), so loading code explains 80.6 % of the 180 ms "
        "that it takes longer than a settled step of these processes (10.0 ms).\n"
    ) in said
    assert "was not recorded" not in said
    assert "The cause was recorded in t only. It is fp32 at context 8 only, one run" in said
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in said.splitlines()]
    dash = "\N{EN DASH}"
    assert ["t", "forward", "the whole step", "200", "10.0", "+190", dash, dash] in cells
    assert ["t", "forward", "other launches", "0", "2.00", "-2.00", "3", "3"] in cells
    assert ["t, forward", "190", "45.0", "10.0", "10.0", "80.6 %", "200", "500"] in cells


def test_the_section_says_that_loading_is_not_the_main_cause(tmp_path):
    said = cause_text(tmp_path, *TRACED, *trial(189, 144))
    assert (
        "the first step takes 145 ms instead of 190 ms (medians of 2 processes each): loading code "
        "explains only 25.0 % of the 180 ms that it takes longer than a settled step of these "
        "processes (10.0 ms), so it isn't "
        "the main cause."
    ) in said
    assert "(medians of 2 processes each): no less, so loading code isn't the cause." in cause_text(
        tmp_path, *TRACED, *trial(189, 191)
    )
    assert (
        "takes 2,000 ms instead of 190 ms (medians of 2 processes each). Here the trial tells "
        "nothing: probably libraries that are loaded in this very step, such as cuBLAS, then load "
        "all of their code in it."
    ) in cause_text(tmp_path, *TRACED, *trial(189, 1999))
    assert "by default it takes no longer than a settled step (10.0 ms)." in cause_text(
        tmp_path, *TRACED, *trial(8, 8)
    )
    flat = [traced("forward", step, outside=10) for step in range(4)]
    assert "under nsys the first step takes no longer than a settled one (10.0 and 10.0" in (
        cause_text(tmp_path, *flat)
    )


def test_processes_that_overlap_show_no_cause(tmp_path):
    rows = [*trial(189, 144), trials("forward", 4, "EAGER", [190, 9, 10, 10])]
    said = cause_text(tmp_path, *TRACED, *rows)
    assert (
        "the first step takes 146 ms instead of 190 ms (medians of 3 and 2 processes). These "
        "processes overlap (189 to 191 against 144 to 190 ms), so the trial doesn't show that "
        "loading code is a cause."
    ) in said
    assert "| t, forward | 190 | 146 | 10.0 | 10.0 | \N{EN DASH} |" in said


def test_the_trial_tells_starting_cublas_from_loading_code(tmp_path):
    trials_of = [("LAZY", False, 190), ("LAZY", True, 130), ("EAGER", True, 40)]
    rows = [
        trials("forward", process, mode, [first, 9, 10, 10], prepared=prepared)
        for process, (mode, prepared, first) in enumerate(trials_of)
    ]
    assert (
        " Without nsys, with cuBLAS started beforehand, by a small product, the first step takes "
        "130 ms instead of 190 ms, and with all code loaded early as well 40.0 ms (one process "
        "each). Of the 180 ms that it takes longer than a settled step of these processes (10.0 "
        "ms), starting cuBLAS thus "
        "explains 33.3 % and loading code 50.0 %.\n"
    ) in cause_text(tmp_path, *TRACED, *rows)
    again = trials("forward", 3, "LAZY", [126, 9, 10, 10])
    mixed = cause_text(tmp_path, *TRACED, *rows, again)
    assert (
        "takes 130 ms instead of 158 ms, and with all code loaded early as well 40.0 ms (one "
        "process each). Of the 148 ms that it takes longer than a settled step of these processes "
        "(10.0 ms), loading code thus explains 60.8 %. What starting cuBLAS explains isn't "
        "shown: the processes overlap (126 to 190 ms without it beforehand, 130 ms with it).\n"
    ) in mixed
    late = [*rows[:2], trials("forward", 2, "EAGER", [131, 9, 10, 10], prepared=True)]
    assert "thus explains 33.3 % and loading code nothing.\n" in cause_text(tmp_path, *late)


def test_without_a_capture_the_section_says_why_and_what_the_trial_showed(tmp_path):
    skipped = ABOUT | {"sweep": "traced", "status": "skipped", "reason": "nsys is not on the PATH"}
    del skipped["phase"]
    said = cause_text(tmp_path, skipped, *trial(189, 44))
    assert "- t, forward: with all code loaded early, the first step takes 45.0 ms" in said
    assert "- In t, nsys recorded no first step: nsys is not on the PATH." in said
    assert "What else a first step spends its time on was not recorded. It is fp32" in said
    failed = ABOUT | {"sweep": "loading", "status": "skipped", "reason": "the program ended"}
    nothing = cause_text(tmp_path, skipped, failed, failed)
    assert "**Why.** What the extra time is spent on was to be recorded, but" in nothing
    assert nothing.count("- In t, a trial of how code is loaded failed: the program ended.") == 1
    assert "What a first step spends its time on was not recorded; likely" in nothing
    assert "the usual reasons: libraries load, memory is allocated and clocks rise." in nothing
    assert "No step was measured." in cause_text(tmp_path, *TRACED, run=False)


CAUSE = points("cuda", "small", SETTINGS)[-1] | {"device": "cuda"}


def test_the_cause_is_measured_by_one_program_under_nsys_and_without(monkeypatch, tmp_path):
    """Here without nsys and without a GPU: what runs is the program's command."""
    ran: list[tuple[str, list[str]]] = []

    def told() -> str:
        return os.environ["CUDA_MODULE_LOADING"]

    def profile(output, program, device, os_tracing):
        ran.append((f"nsys {told()}", program))

    def export(output, database):
        capture(database.parent, CAUSE["steps"]).rename(database)

    def run_tied(program):
        ran.append((told(), program))
        times = {"forward": [3, 2], "forward_backward": [5, 4]}
        Path(program[-1]).write_text(json.dumps({"build_ns": 7, "steps_ns": times}))
        return subprocess.CompletedProcess(program, 0)

    monkeypatch.setattr(cause_of, "run_tied", run_tied)
    monkeypatch.setattr(cause_of.nsys_cli, "profile", profile)
    monkeypatch.setattr(cause_of.nsys_cli, "export_sqlite", export)
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    rows = measure(CAUSE)
    assert [how for how, _ in ran] == ["nsys LAZY", *["LAZY", "LAZY", "EAGER"] * 2]
    assert "CUDA_MODULE_LOADING" not in os.environ
    for _, program in ran:
        assert program[1:4] == ["-m", "workflow_src.studies.warmup.cause", "--point"]
        assert json.loads(program[4]).items() >= CAUSE.items()
    prepared = [json.loads(program[4]).get("prepared") for _, program in ran]
    assert prepared == [None, *[False, True, True] * 2]
    assert [row["sweep"] for row in rows] == ["traced"] + ["loading"] * 12
    assert {(row["status"], row["config"]) for row in rows} == {("ok", "tiny-ctx64-fp32")}
    assert [row["steps_ns"] for row in rows[1:3]] == [[3, 2], [5, 4]]
    assert [row["loading"] for row in rows[1::2]] == ["LAZY", "LAZY", "EAGER"] * 2
    assert [row["prepared"] for row in rows[1::2]] == prepared[1:]
    assert measure(CAUSE | {"device": "cpu"}) == []


def test_a_program_that_fails_is_a_row(monkeypatch):
    def missing(*_, **__):
        raise TraceError("nsys is not on the PATH")

    monkeypatch.setattr(cause_of.nsys_cli, "profile", missing)
    ended = subprocess.CompletedProcess([], 3)
    monkeypatch.setattr(cause_of, "run_tied", lambda program: ended)
    rows = measure(CAUSE)
    assert [(row["sweep"], row["status"]) for row in rows] == [
        ("traced", "skipped"),
        *[("loading", "skipped")] * 6,
    ]
    assert rows[0]["reason"] == "nsys is not on the PATH"
    assert rows[1]["reason"].startswith("the program ended with status 3;")


def test_the_program_runs_the_first_steps_of_both_phases(monkeypatch, tmp_path):
    point = CAUSE | {"device": "cpu", "context": 8, "steps": 2, "prepared": True}
    output = tmp_path / "steps.json"
    monkeypatch.setattr("sys.argv", ["", "--point", json.dumps(point), "--output", str(output)])
    cause_of.main()
    found = json.loads(output.read_text())
    assert found["build_ns"] > 0
    assert {phase: len(ns) for phase, ns in found["steps_ns"].items()} == {
        "forward": 2,
        "forward_backward": 2,
    }


def test_a_figure_of_five_sizes_has_rows_of_panels(tmp_path):
    rows = [
        raw(0, COLD, size=size, phase=phase)
        for size in ("small", "medium", "large", "xl", "2.7B")
        for phase in ("forward", "forward_backward")
    ]
    drawn = SECTION.figure(joined(tmp_path, *rows))
    assert len(drawn.axes) == 10
    assert tuple(drawn.get_size_inches()) == pytest.approx((2.9 * 4 + 2.2, 3.2 * 3))
    text(tmp_path, *rows)
