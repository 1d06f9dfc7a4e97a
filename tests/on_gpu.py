"""What tests on a CUDA device share. Run them with `python -m pytest -m gpu`."""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from workflow_src.captures.export_case import export
from workflow_src.common.case import Case
from workflow_src.common.devices import cuda_devices
from workflow_src.measure import capture as nsys
from workflow_src.measure import profiled_run

ON_GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device"),
]
needs_nsys = pytest.mark.skipif(not shutil.which("nsys"), reason="needs nsys")

WARMUP, STEPS = 3, 3


def under_nsys(folder: Path, program: Sequence[str]) -> Path:
    """The export folder of `python -m program`, captured under nsys."""
    nsys.profile(folder / "c.nsys-rep", [sys.executable, "-m", *program], "cuda")
    export(folder / "c.nsys-rep", folder / "export")
    return folder / "export"


PROGRAM = "workflow_src.measure.profiled_run"


def captured(folder: Path, case: Case, program: str = PROGRAM) -> Path:
    """The export folder of a case captured under nsys where there is one, else under torch."""
    if shutil.which("nsys"):
        row = json.dumps(case.as_dict() | {"warmup_steps": WARMUP, "capture_steps": STEPS})
        return under_nsys(folder, [program, "--case", row])
    profiled_run.profiled_run(case, WARMUP, STEPS, folder / "c.kineto.json.gz")
    export(folder / "c.kineto.json.gz", folder / "export")
    return folder / "export"
