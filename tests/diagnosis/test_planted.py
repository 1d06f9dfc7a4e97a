"""What is said first of recorded training loops with one fault each, of clean ones and of cases."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_src.captures.reading import read
from workflow_src.common.case import PHASES
from workflow_src.common.table_schema import columns
from workflow_src.common.thresholds import FINDING_AT_LEAST, REPLAYED_WITHIN
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose
from workflow_src.diagnosis.facts import step_calls, step_work
from workflow_src.diagnosis.mechanisms.transfers import synchronizations
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.attributed import attributed
from workflow_src.placing.case_capture import read_case
from workflow_src.tables.diagnosis_tables import account, diagnosis_tables, division
from workflow_src.tables.findings import case_findings, measured, subjects

DATA = Path("tests/data/captures/planted")

MECHANISM_OF = {
    "channels_first": "convolution_layout", "waits_in_hooks": "number_of_each_tensor",
    "loader_in_the_process": "slow_loader", "parsing_thread": "other_thread",
    "unique_ids": "selection", "average_one_by_one": "parameter_by_parameter",
    "many_tables": "dense_gradients", "debug_checks": "number_of_each_tensor",
    "python_in_a_layer": "host_gap",
}  # fmt: skip
"""The mechanism of each fault whose name isn't its mechanism's key."""

STEP_OF = {
    "parsing_thread": "train_step", "unique_ids": "fit_batch", "average_one_by_one": "train",
    "new_shapes": "batch *",
}  # fmt: skip
"""The range of a step where it isn't called so."""


@pytest.mark.parametrize(
    ("capture", "plain_ms", "where", "saves_ms"),
    [
        ("recomputation-device.sqlite.gz", 61.3811, "block.3", 9.48),
        ("pageable_batch-device.json.gz", 86.364, "step/data", 47.14),
        ("python_in_a_layer-host.sqlite.gz", 22.011, "step/forward/block.2/mlp", 4.05),
        ("parameter_by_parameter-host.json.gz", 19.2169, "step/optimizer", 2.28),
        ("channels_first-device.sqlite.gz", 6.7414, "step/forward/stage*", 0.27),
        ("waits_in_hooks-device.sqlite.gz", 10.306, "step/backward", 1.38),
        ("loader_in_the_process-device.json.gz", 18.6808, "step/data", 11.68),
        ("parsing_thread-host.sqlite.gz", 18.9865, "train_step", 6.08),
        ("unique_ids-host.json.gz", 8.7897, "fit_batch/embeddings", 3.76),
        ("average_one_by_one-host.json.gz", 12.1366, "train/after_step", 1.68),
        ("new_shapes-device.sqlite.gz", 65.562, "batch *", 9.02),
        ("metrics-device.sqlite.gz", 15.139, "step/forward/metrics", 1.96),
        ("float64-device.sqlite.gz", 11.3322, "step/forward/block.1/mlp", 0.73),
        ("debug_checks-host.sqlite.gz", 16.3057, "step/forward", 3.9),
        ("evaluation-device.sqlite.gz", 12.0705, "step/evaluation", 1.9),
        ("stall-host.sqlite.gz", 121.8585, "step", 108.58),
        ("data_to_host-device.sqlite.gz", 95.4856, "step/forward/log", 80.35),
        ("blocking_save-device.json.gz", 104.2116, "step/save", 105.56),
        ("dense_gradients-device.sqlite.gz", 4.776, "step/backward", 2.4),
        ("many_tables-device.sqlite.gz", 14.706, "step", 2.81),
        ("index_gradients-device.sqlite.gz", 32.964, "step", 12.29),
        ("clean_wide_decoder-device.sqlite.gz", 44.4207, "", 0),
        ("clean_convolutions-device.json.gz", 5.268, "", 0),
    ],
)
def test_the_first_finding_of_a_planted_loop_is_its_fault(
    capture: str, plain_ms: float, where: str, saves_ms: float
) -> None:
    recorded = attributed(
        read(DATA / capture), None, step=STEP_OF.get(capture.split("-")[0], "step")
    )
    (process,) = recorded.capture.processes
    subject = Subject.of(recorded, process)
    diagnosis = diagnose(subject, plain_ms * NS_PER_MS)
    assert diagnosis.understood
    fault = capture.split("-")[0]
    # What is true of a whole program comes last, and isn't its fault.
    special = [each for each in diagnosis.findings if not each.general]
    found = [(each.key, each.where, round(each.saves_ms, 2)) for each in special[:1]]
    assert found == ([(MECHANISM_OF.get(fault, fault), where, saves_ms)] if where else [])
    # Without a plain time, too; of two, because that takes as long again.
    without = [diagnose(subject)] if capture.endswith("-host.sqlite.gz") else []
    for each in (diagnosis, *without):
        assert_bounded(each)
        assert_adds_up(subject, each)


def test_a_fault_that_costs_little_is_told_below() -> None:
    recorded = attributed(read(DATA / "host_scalars-host.json.gz"), None)
    diagnosis = diagnose(Subject.of(recorded, *recorded.capture.processes), 13.5194 * NS_PER_MS)
    assert [each.key for each in diagnosis.smaller] == ["host_scalars"]


@pytest.mark.parametrize("fault", ["reduced_in_each_micro_batch", "small_collectives"])
def test_a_fault_of_two_ranks_is_told_of_both(fault: str) -> None:
    recorded = attributed(read(DATA / f"{fault}-ranks.sqlite.gz"), None)
    ranks = [Subject.of(recorded, process) for process in recorded.capture.processes]
    first = [diagnose(subject).findings[0].key for subject in ranks]
    assert first == [fault] * 2


def test_kernels_that_are_looked_for_are_no_thread_that_takes_the_interpreter() -> None:
    """Batches of new sizes come in four of these ten steps, with 23 gaps each before products."""
    recorded = attributed(read(DATA / "new_shapes-device.sqlite.gz"), None)
    found = diagnose(Subject.of(recorded, *recorded.capture.processes)).findings
    (gaps,) = (each for each in found if each.key == "new_shapes")
    assert (gaps.told["calls"], gaps.told["in_steps"]) == (23, 4)
    assert {"empty_cache", "new_shapes"} == {each.key for each in found if not each.general}


@pytest.mark.parametrize("capture", ["ddp.sqlite.gz", "gpt2_modules.sqlite.gz", "sleepy.sqlite.gz"])
def test_what_is_said_of_a_recorded_step_adds_up(capture: str) -> None:
    recorded = attributed(read(DATA.parent / capture), None, step="step")
    for process in recorded.capture.processes:
        subject = Subject.of(recorded, process)
        assert_adds_up(subject, diagnose(subject))


def assert_adds_up(subject: Subject, diagnosis: Diagnosis) -> None:
    """Parts make up the step, no part is more than it, and nothing saves more than it takes."""
    step = division(subject, diagnosis) | account(subject, diagnosis)
    ms = {name: value for name, value in step.items() if isinstance(value, float)}
    assert ms["host_ms"] + ms["blocked_ms"] <= ms["recorded_ms"] * (1 + 1e-9)
    assert ms["device_ms"] <= ms["recorded_ms"] * (1 + 1e-9)
    parts = [ms[f"{name}_ms"] for name in ("named", "device_left", "launching", "unnamed")]
    assert sum(parts) == pytest.approx(ms["step_ms"]) and min(parts) >= 0
    for each in (*diagnosis.findings, *diagnosis.smaller):
        assert 0 <= each.saves_ms <= each.takes_ms, each.key
        assert each.told["calls"] > 0 and each.told["in_steps"] > 0, each.key
    limit_ms = FINDING_AT_LEAST * diagnosis.step_ms
    assert all(each.saves_ms < limit_ms for each in diagnosis.smaller)
    calls, work = step_calls(subject), step_work(subject)
    assert work["device_ms"].sum() >= ms["device_ms"] * (1 - 1e-9)
    assert calls["share"].sum() == pytest.approx(1) == work["share"].sum()
    assert calls.loc[calls["launches"], "calls"].sum() == pytest.approx(ms["launches"])


def assert_bounded(diagnosis: Diagnosis) -> None:
    """No finding leaves less than what it doesn't touch takes.

    That is the host's time alone if it takes none of the host's, and the device's likewise.
    """
    host_ms, device_ms = (
        diagnosis.bounds.host_ns / NS_PER_MS,
        diagnosis.bounds.device_ns / NS_PER_MS,
    )
    slack_ms = REPLAYED_WITHIN * diagnosis.step_ms
    for each in diagnosis.findings:
        left_ms = diagnosis.step_ms - each.saves_ms
        assert each.host_ms > 0 or left_ms >= host_ms - slack_ms, each.key
        assert each.device_ms > 0 or left_ms >= device_ms - slack_ms, each.key
        assert each.saves_with_above_ms <= diagnosis.step_ms


OF_CASES = Path(__file__).parents[1] / "data"
PLAIN_MS = {"forward": 1.2, "forward_backward": 3.5, "train_step": 4.5}
TIMINGS = pd.DataFrame({"phase": PHASES, "status": "ok", "median_ms": PLAIN_MS.values()})


@pytest.mark.parametrize("name", ["tiny-ctx64-fp32", "tiny-ctx64-bf16-sdpa-fused"])
def test_each_phase_is_searched_and_what_is_found_saves_of_its_unprofiled_step(name: str) -> None:
    found = case_findings(OF_CASES / "nsys" / name, TIMINGS)
    assert set(found) <= set(columns("findings"))
    for phase, mine in found.groupby("phase"):
        assert mine["rank"].tolist() == [*range(1, len(mine) + 1)]
        assert mine["step_ms"].to_numpy() == pytest.approx(PLAIN_MS[str(phase)], rel=0.01)
        assert (mine["saves_ms"] <= mine["host_ms"] + mine["device_ms"] + 1e-9).all()
        assert mine["mechanism"].iloc[-1] == "launch_bound", "what is general comes last"
        assert (mine["path"].str.split("/").str[0] == phase).all()
    optimizers = found[found["mechanism"] == "parameter_by_parameter"]["path"].tolist()
    assert optimizers == ([] if "fused" in name else ["train_step/optimizer"])


def test_the_wait_that_ends_a_step_is_how_it_is_timed() -> None:
    capture = read_case(OF_CASES / "nsys" / "tiny-ctx64-fp32").placed
    for phase in PHASES:
        (subject,) = subjects(capture, phase)
        assert subject.step_count == 3
        (wait,) = synchronizations(subject)
        assert (wait.where, wait.told["calls"]) == (phase, 1)
        assert not list(synchronizations(measured(subject)))
        assert measured(subject).check == subject.check, "it is waited for as before"


def test_a_cpu_s_steps_have_no_launches_to_replay() -> None:
    found = case_findings(OF_CASES / "torch" / "tiny-ctx8-bf16", TIMINGS)
    assert found.empty and {"phase", "rank", "saves_ms"} <= set(found)


def test_what_a_loop_does_between_steps_is_of_no_layer() -> None:
    recorded = attributed(read(DATA.parents[1] / "strangers" / "merged_by_sglang.json"), None)
    said = diagnosis_tables(recorded)["findings"]["headline"]
    assert len(said) == 2
    assert said.str.startswith("The host launches nothing from one step to the next").all()
