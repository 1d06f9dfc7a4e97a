"""Findings of a case: of each phase of its capture, none of the wait that ends a step."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_src.common.case import PHASES
from workflow_src.common.table_schema import columns
from workflow_src.diagnosis.mechanisms.transfers import synchronizations
from workflow_src.placing.case_capture import read_case
from workflow_src.tables.findings import case_findings, measured, steps_of, subjects

DATA = Path(__file__).parent / "data"
PLAIN_MS = {"forward": 1.2, "forward_backward": 3.5, "train_step": 4.5}
TIMINGS = pd.DataFrame({"phase": PHASES, "status": "ok", "median_ms": PLAIN_MS.values()})


@pytest.mark.parametrize("name", ["tiny-ctx64-fp32", "tiny-ctx64-bf16-sdpa-fused"])
def test_each_phase_is_searched_and_what_is_found_saves_of_its_unprofiled_step(name: str) -> None:
    found = case_findings(DATA / "nsys" / name, TIMINGS)
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
    capture = read_case(DATA / "nsys" / "tiny-ctx64-fp32").placed
    for phase in PHASES:
        (subject,) = subjects(steps_of(capture, phase))
        assert subject.step_count == 3
        (wait,) = synchronizations(subject)
        assert (wait.where, wait.told["calls"]) == (phase, 1)
        assert not list(synchronizations(measured(subject)))
        assert measured(subject).step_ns == subject.step_ns, "it is waited for as before"


def test_a_cpu_s_steps_have_no_launches_to_replay() -> None:
    found = case_findings(DATA / "torch" / "tiny-ctx8-bf16", TIMINGS)
    assert found.empty and {"phase", "rank", "saves_ms"} <= set(found)
