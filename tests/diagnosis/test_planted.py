"""What is said first of recorded training loops with one fault each, and of clean ones."""

from pathlib import Path

import pytest

from benchmarks.planted.score import MECHANISM_OF
from benchmarks.replay import placed
from workflow_src.common.thresholds import REPLAYED_WITHIN
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose
from workflow_src.diagnosis.finding import MECHANISMS, Subject

DATA = Path("tests/data/captures/planted")

STEP_OF = {
    "parsing_thread": "train_step", "unique_ids": "fit_batch", "average_one_by_one": "train"
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
        ("unique_ids-host.json.gz", 8.7897, "fit_batch/embeddings", 2.17),
        ("average_one_by_one-host.json.gz", 12.1366, "train/after_step", 1.68),
        ("clean_wide_decoder-device.sqlite.gz", 44.4207, "", 0),
        ("clean_convolutions-device.json.gz", 5.268, "", 0),
    ],
)
def test_the_first_finding_of_a_planted_loop_is_its_fault(
    capture: str, plain_ms: float, where: str, saves_ms: float
) -> None:
    recorded = placed(DATA / capture, STEP_OF.get(capture.split("-")[0], "step"))
    (process,) = recorded.capture.processes
    diagnosis = diagnose(Subject.of(recorded, process), plain_ms * NS_PER_MS)
    assert diagnosis.understood
    fault = capture.split("-")[0]
    # What is true of a whole program comes last, and isn't its fault.
    special = [each for each in diagnosis.findings if not MECHANISMS[each.key].general]
    found = [(each.key, each.place.where, round(each.saves_ms, 2)) for each in special[:1]]
    assert found == ([(MECHANISM_OF.get(fault, fault), where, saves_ms)] if where else [])
    assert_bounded(diagnosis)
    assert_bounded(diagnose(Subject.of(recorded, process)))


def assert_bounded(diagnosis: Diagnosis) -> None:
    """No finding saves more than it takes, nor leaves less than what it doesn't touch takes.

    That is the host's time alone if it takes none of the host's, and the device's likewise.
    """
    host_ms, device_ms = (
        diagnosis.bounds.host_ns / NS_PER_MS,
        diagnosis.bounds.device_ns / NS_PER_MS,
    )
    slack_ms = REPLAYED_WITHIN * diagnosis.step_ms
    for each in diagnosis.findings:
        takes, left_ms = each.place, diagnosis.step_ms - each.saves_ms
        assert each.saves_ms <= takes.host_ms + takes.device_ms + slack_ms / 10, each.key
        assert takes.host_ms > 0 or left_ms >= host_ms - slack_ms, each.key
        assert takes.device_ms > 0 or left_ms >= device_ms - slack_ms, each.key
        assert each.saves_with_above_ms <= diagnosis.step_ms
