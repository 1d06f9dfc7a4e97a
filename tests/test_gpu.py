"""Tests on a CUDA device: run with `python -m pytest -m gpu`."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from tests.on_gpu import ON_GPU, STEPS, WARMUP, captured, needs_nsys
from workflow_src.captures.reading import read
from workflow_src.common.case import Case
from workflow_src.measure import profiled_run
from workflow_src.placing.case_capture import CaseCapture, placed_case, read_case, require_complete
from workflow_src.tables.case_tables import kernels_table, stats_total_ns

pytestmark = ON_GPU

CASE = Case("t", "t", 768, 3072, 4, 12, 10000, 4, 512, "fp32", "naive", "adamw", "cuda")


@pytest.fixture(scope="module")
def nsys_trace(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The export folder of a case captured under nsys, cached per set of arguments."""

    @cache
    def take(precision: str, *program: str) -> Path:
        folder = tmp_path_factory.mktemp("nsys")
        return captured(folder, replace(CASE, precision=precision), *program)

    return take


def kernels_of(case: CaseCapture) -> pd.DataFrame:
    return kernels_table(case.ranges, case.work)


@needs_nsys
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_backward_agrees_with_single_threaded_autograd(
    nsys_trace: Callable[..., Path], precision: str
) -> None:
    busy = {}
    for program in ((), ("tests.single_threaded",)):
        ranges = read_case(nsys_trace(precision, *program)).ranges
        backward = ranges[ranges["path"] == "train_step/backward"]
        busy[program] = backward.groupby("step")["busy_ns"].sum().median()
    default, single = busy.values()
    assert default == pytest.approx(single, rel=0.03)


@needs_nsys
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_all_kernel_time_is_accounted_for(nsys_trace: Callable[..., Path], precision: str) -> None:
    folder = nsys_trace(precision)
    case = read_case(folder)
    require_complete(case)
    kernels = kernels_of(case)
    total = kernels.loc[kernels["kind"] == "kernel", "busy_ns"].sum()
    assert total == stats_total_ns(folder / "cuda_gpu_kern_sum.csv")
    assert kernels.loc[kernels["phase"] == "", "busy_ns"].sum() <= 0.001 * total
    parts = kernels[kernels["path"].str.startswith("train_step/")]
    step = kernels[kernels["phase"] == "train_step"]
    assert parts["busy_ns"].sum() == step["busy_ns"].sum(), "forward + backward + ... = step"


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_kernel_names_reveal_the_precision_that_ran(tmp_path: Path, precision: str) -> None:
    path = tmp_path / "c.kineto.json.gz"
    profiled_run.profiled_run(replace(CASE, precision=precision), WARMUP, STEPS, path)
    kernels = kernels_of(placed_case(read(path)))
    gemms = kernels[kernels["family"] == "gemm"]
    time = gemms.groupby("precision_ran")["busy_ns"].sum()
    assert time.get(precision, 0) / time.sum() > 0.9


def test_a_memory_limit_causes_real_out_of_memory_errors() -> None:
    program = (
        "import json, sys\n"
        "from workflow_src.measure.benchmark import benchmark\n"
        "from workflow_src.common.case import Case\n"
        "print(json.dumps(benchmark(Case.from_dict(json.loads(sys.argv[1])), 1, 1)['phases']))\n"
    )

    limited = json.dumps(replace(CASE, memory_limit_gib=1.0, batch=8).as_dict())
    command = [sys.executable, "-c", program, limited]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    phases = json.loads(said.splitlines()[-1])
    assert phases["forward"]["status"] == "ok"
    assert phases["forward_backward"]["status"] == "oom"
    assert phases["train_step"]["status"] == "skipped"
    assert phases["forward"]["peak_memory_mib"] <= 1024
