"""`make check-model`: each phase of a brought model once, and what a run would refuse."""

from pathlib import Path

import pytest

from tests.workflow import ROOT, served_stage

BAD = """
import torch
from workflow_src.workload import Workload

def make(device, width=8):
    model = torch.nn.Linear(width, width).to(device)
    return Workload(model, (torch.randn(4, width),), lambda model, x: {loss})
"""


def checked(*config: str) -> tuple[int, str]:
    """The status of the command with these settings, and what it prints."""
    return served_stage(ROOT, "workflow_src.cli.check_model", "--config", *config)


def test_each_phase_of_each_case_runs_once() -> None:
    axes = "axes={context: [16, 32], width: [16]}"
    status, printed = checked("workload=examples/my_model.py:make", axes)
    assert status == 0, printed
    assert "my_model-context=32-width=16-fp32: " in printed
    assert "\n6 of 6 phases of 2 cases ran on cpu. To measure: snakemake " in printed


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("model(x)", "the loss has shape (4, 8), and must be a scalar"),
        ("model(x).mean() / 0", "the loss of bad-fp32 isn't finite"),
    ],
)
def test_what_a_run_refuses_is_one_sentence(loss: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BAD.replace("{loss}", loss))
    status, printed = checked(f"workload={file}:make")
    assert status == 1 and said in printed and "Traceback" not in printed
