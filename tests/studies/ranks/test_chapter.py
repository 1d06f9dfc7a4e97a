"""What the study ranks tells of a table."""

from typing import Any

import pytest

from tests.studies.ranks.rows import collective, reduced, way
from tests.studies.tables import cells, result_of, verdict_of
from workflow_src.common.words import DASH
from workflow_src.paper.show import Printer

PEAKS: dict[str, Any] = {
    "before_optimizer_mib": 4096.0,
    "optimizer_mib": 3072.0,
    "initialized_mib": 1024.0,
}
NAIVE = way("naive", 112.0, recorded_ms=224.0, communication_ms=12.0, exposed_ms=11.0, **PEAKS)
FSDP = way("fsdp", None, status="oom", reason="CUDA out of memory")
ALONE = way("alone", 100.0, **PEAKS)


def test_a_row_per_way_has_its_step_what_nothing_hides_and_its_peak() -> None:
    found = result_of("ranks", [FSDP, NAIVE, ALONE])
    assert cells(found.steps, "gradients")[0] == "no communication"
    assert cells(found.steps, "2.7B fp32, ms") == [
        "100 (90.0 to 110)",
        "112 (101 to 123)",
        "OOM",
    ]
    assert cells(found.steps, "2.7B fp32: nothing hides") == [DASH, "11.0 of 12.0", DASH]
    assert cells(found.steps, "2.7B fp32: peak") == ["4.00", "4.00", DASH]
    assert cells(found.details.times, "case") == ["2.7B fp32"]
    assert Printer()(found.details.traced) == "2.0 x in 2.7B fp32"
    assert len(found.missing) == 1


def test_only_steps_that_do_not_wait_for_launches_are_scored() -> None:
    near: dict[str, Any] = {"predicted_step_ms": 115.0}
    far: dict[str, Any] = {"predicted_step_ms": 116.0}
    waits: dict[str, Any] = {"precision": "bf16", "compute_ms": 50.0}
    rows = [ALONE, NAIVE | near, way("flat", 112.0, **far)]
    rows += [way("alone", 100.0, **waits), way("naive", 112.0, **near, **waits)]
    found = result_of("ranks", rows)
    assert str(Printer()(found.foretold)) == "1 of 2 steps of 2.7B fp32"
    assert cells(found.details.times, "off") == ["+3 %", "+4 %", "+3 %"]


@pytest.mark.parametrize(("host", "said"), [("a", ""), ("b", " (of another host)"), ("", "")])
def test_all_reduces_of_another_host_are_told(host: str, said: str) -> None:
    """A case that waits for launches isn't foretold, so its host doesn't count."""
    waits: dict[str, Any] = {"precision": "bf16", "compute_ms": 50.0, "host_id": "b"}
    rows = [reduced(10**9, 360.0, host_id=host), ALONE | {"host_id": "a"}, NAIVE]
    rows += [way("alone", 100.0, **waits), way("naive", 112.0, **waits)]
    assert result_of("ranks", rows).elsewhere == said


def test_peaks_are_scored_of_every_case() -> None:
    predicted = {"predicted_before_optimizer_mib": 4000.0, "predicted_optimizer_mib": 2900.0}
    found = result_of("ranks", [ALONE, NAIVE | predicted])
    assert [value.number for value in found.fitted.cells] == [1, 2]
    assert cells(found.details.peaks, "before") == [f"{DASH} → 4.00", "3.91 → 4.00"]


def test_bandwidth_is_a_share_of_a_link_and_gathers_are_late_or_not() -> None:
    rows = [reduced(10**9, 360.0), reduced(10**9, 360.0, gpu="another")]
    found = result_of("ranks", [*rows, collective("allgather", 65, 2)]).details
    assert cells(found.reduced, "all-reduce") == ["1,000", "1,000"]
    assert cells(found.reduced, "of a link's") == ["80 %", DASH]
    assert cells(found.collectives, "late") == ["2"]
    assert cells(found.collectives, "collective") == ["all-gather"]
    assert str(Printer()(found.late)) == "2 of 65 in 2.7B fp32"
    between = result_of("ranks", [collective("allgather", 65, 64.5)]).details
    assert str(Printer()(between.late)) == "64.5 of 65 in 2.7B fp32"


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([ALONE, NAIVE, way("overlapped", 105.0)], "LITTLE"),
        ([ALONE, NAIVE, way("overlapped", 105.1)], "MUCH"),
        ([way("alone", 106.0), NAIVE], "WAITS"),
        ([ALONE, way("naive", 112.0, gradient_error=2e-4)], "WRONG"),
        ([ALONE, way("naive", 112.0, parameter_error=0.02)], "WRONG"),
        ([way("alone", 5.0, gpu=False), way("naive", 9.0, gpu=False)], "ON_A_CPU"),
        ([ALONE], "CANT_TELL"),
        ([NAIVE], "CANT_TELL"),
        ([ALONE, way("naive", None, status="oom")], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("ranks", rows)[0] == verdict


def test_a_case_that_waits_for_launches_is_left_out() -> None:
    waits: dict[str, Any] = {"precision": "bf16", "compute_ms": 50.0}
    rows = [ALONE, NAIVE, way("alone", 100.0, **waits), way("fsdp", 300.0, **waits)]
    said = verdict_of("ranks", rows)[1]
    assert "a training step of 2.7B fp32 takes 1.12 x as long as without communication" in said
    assert "all-reduce per parameter, after backward" in said and "FSDP2" not in said
