"""`make check-model`: each phase of a brought model once, and what a run would refuse."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow import ROOT

BAD = """
import torch
from workflow_src.workload import Workload

def make(device, width=8):
    model = torch.nn.Linear(width, width).to(device)
    return Workload(model, (torch.randn(4, width),), lambda model, x: {loss})
"""


def checked(*config: str) -> subprocess.CompletedProcess[str]:
    """The command, run with these settings."""
    command = [sys.executable, "-m", "workflow_src.cli.check_model", "--config", *config]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_each_phase_of_each_case_runs_once() -> None:
    found = checked("workload=examples/my_model.py:make", "axes={context: [16, 32], width: [16]}")
    assert found.returncode == 0, found.stderr
    assert "my_model-context=32-width=16-fp32: " in found.stdout
    last = found.stdout.splitlines()[-1]
    assert last.startswith("6 of 6 phases of 2 cases ran on cpu. To measure: snakemake ")


@pytest.mark.parametrize(
    ("loss", "axes", "said"),
    [
        ("model(x)", "", "the loss has shape (4, 8), and must be a scalar"),
        ("model(x).mean() / 0", "", "the loss of bad-fp32 isn't finite"),
        ("model(x).mean()", "axes={depth: [2]}", "unexpected keyword argument 'depth'"),
    ],
)
def test_what_a_run_refuses_is_one_sentence(
    loss: str, axes: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BAD.replace("{loss}", loss))
    found = checked(f"workload={file}:make", *filter(None, [axes]))
    assert found.returncode == 1
    assert said in found.stderr and "Traceback" not in found.stderr
