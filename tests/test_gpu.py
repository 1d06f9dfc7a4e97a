"""Tests on a CUDA device: run with `python -m pytest -m gpu`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from workflow_src.captures.export_case import export
from workflow_src.captures.reading import read
from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import PHASES, Case
from workflow_src.common.devices import cuda_devices
from workflow_src.measure import capture as nsys
from workflow_src.measure import profiled_run
from workflow_src.measure.activities import activities_of
from workflow_src.measure.benchmark import benchmark
from workflow_src.measure.workload import Workload
from workflow_src.placing.case_capture import CaseCapture, placed_case, read_case, require_complete
from workflow_src.placing.families import families
from workflow_src.tables.case_tables import case_tables, kernels_table, stats_total_ns

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device"),
]
needs_nsys = pytest.mark.skipif(not shutil.which("nsys"), reason="needs nsys")

CASE = Case("t", "t", 768, 3072, 4, 12, 10000, 4, 512, "fp32", "naive", "adamw", "cuda")
STEPS = 3


def recorder(case: Case, *options: str) -> list[str]:
    row = json.dumps(case.as_dict() | {"warmup_steps": 3, "capture_steps": STEPS})
    return [sys.executable, "-m", "workflow_src.measure.profiled_run", "--case", row, *options]


@pytest.fixture(scope="module")
def nsys_trace(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The export folder of a case captured under nsys, cached per set of arguments."""

    @cache
    def take(precision: str, *options: str, again: int = 0) -> Path:
        folder = tmp_path_factory.mktemp("nsys")
        program = recorder(replace(CASE, precision=precision), *options)
        nsys.profile(folder / "c.nsys-rep", program, "cuda", os_tracing=False)
        export(folder / "c.nsys-rep", folder / "export", os_tracing=False)
        return folder / "export"

    return take


def kernels_of(case: CaseCapture) -> pd.DataFrame:
    return kernels_table(case.ranges, case.work)


@needs_nsys
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_backward_agrees_with_single_threaded_autograd(
    nsys_trace: Callable[..., Path], precision: str
) -> None:
    busy = {}
    for options in ((), ("--single-threaded-autograd",)):
        ranges = read_case(nsys_trace(precision, *options)).ranges
        backward = ranges[ranges["path"] == "train_step/backward"]
        busy[options] = backward.groupby("step")["busy_ns"].sum().median()
    default, single = busy.values()
    print(f"backward {precision}: {default} ns, single-threaded {single} ns")
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


def kineto_capture(case: Case, folder: Path) -> CaseCapture:
    path = folder / "c.kineto.json.gz"
    profiled_run.profiled_run(case, 3, STEPS, path)
    return placed_case(read(path))


COMBINATIONS = [(p, a) for p in ("fp32", "tf32", "bf16") for a in ("naive", "sdpa")]


@pytest.mark.parametrize(("precision", "attention"), COMBINATIONS)
def test_families_of_kernels_agree_with_those_of_their_operators(
    precision: str, attention: str
) -> None:
    """Memsets are excluded: one that clears a split-K workspace is a fill, its operator a gemm."""
    workload = Workload(replace(CASE, precision=precision, attention=attention))
    step = workload.phase("train_step")
    step()
    rows = pd.DataFrame(activities_of(step, "cuda"))
    kernels = rows[rows["kind"] == "kernel"]
    by_name, by_operator = families(kernels["name"]), families(kernels["operator"])
    differing = kernels.assign(by_name=by_name, by_operator=by_operator)
    differing = differing[by_name != by_operator]
    listed = differing.groupby(["by_name", "by_operator", "operator", "name"])["busy_ns"].sum()
    share = 1 - differing["busy_ns"].sum() / kernels["busy_ns"].sum()
    print(f"{precision} {attention}: families agree on {share:.4%}")
    assert share >= 0.995, listed.sort_values().to_string()
    lost = differing[differing["by_operator"] == "gemm"]
    assert lost["busy_ns"].sum() == 0, listed.to_string()


def test_the_events_around_a_step_enclose_its_device_work(tmp_path: Path) -> None:
    """Between two CUDA events lies the span of a step's kernels; the host's range is as long.

    On a slow host the span may be shorter, which launches the first kernel, and records the second
    event, a millisecond late.
    """
    between: dict[str, list[float]] = {phase: [] for phase in PHASES}
    original = profiled_run.run_step

    def timed(workload: Any, phase: str) -> None:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        workload.phase(phase)()
        end.record()
        workload.synchronize()
        between[phase].append(start.elapsed_time(end))

    profiled_run.run_step = timed
    try:
        ranges = kineto_capture(CASE, tmp_path).ranges
    finally:
        profiled_run.run_step = original
    for phase in PHASES:
        steps = ranges[ranges["path"] == phase].sort_values("start_ns")
        for event_ms, (_, step) in zip(between[phase][-STEPS:], steps.iterrows(), strict=True):
            span_ms, range_ms = step["span_ns"] / 1e6, (step["end_ns"] - step["start_ns"]) / 1e6
            print(f"{phase}: span {span_ms:.3f} ms, event {event_ms:.3f}, range {range_ms:.3f}")
            assert 0.995 * span_ms <= event_ms == pytest.approx(range_ms, rel=0.03)


@pytest.mark.parametrize(
    ("precision", "ran"), [("fp32", "fp32"), ("tf32", "tf32"), ("bf16", "bf16")]
)
def test_kernel_names_reveal_the_precision_that_ran(
    tmp_path: Path, precision: str, ran: str
) -> None:
    kernels = kernels_of(kineto_capture(replace(CASE, precision=precision), tmp_path))
    gemms = kernels[kernels["family"] == "gemm"]
    time = gemms.groupby("precision_ran")["busy_ns"].sum()
    print(precision, (time / time.sum()).round(4).to_dict())
    assert time.get(ran, 0) / time.sum() > 0.9


def test_a_memory_limit_causes_real_out_of_memory_errors() -> None:
    program = (
        "import json, sys\n"
        "from workflow_src.measure.benchmark import benchmark\n"
        "from workflow_src.common.case import Case\n"
        "print(json.dumps(benchmark(Case.from_dict(json.loads(sys.argv[1])), 1, 1)['phases']))\n"
    )
    import subprocess

    limited = json.dumps(replace(CASE, memory_limit_gib=1.0, batch=8).as_dict())
    command = [sys.executable, "-c", program, limited]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    phases = json.loads(said.splitlines()[-1])
    print({phase: found["status"] for phase, found in phases.items()})
    assert phases["forward"]["status"] == "ok"
    assert phases["forward_backward"]["status"] == "oom"
    assert phases["train_step"]["status"] == "skipped"
    assert phases["forward"]["peak_memory_mib"] <= 1024


def test_the_environment_of_a_result_names_the_device(tmp_path: Path) -> None:
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    result = benchmark(replace(CASE, layers=1), 1, 2)
    assert result["environment"]["gpu"] and result["environment"]["driver"]
    assert {"sm_clock_mhz", "temperature_c", "throttle"} <= result["before"].keys()
    path = tmp_path / "c.kineto.json.gz"
    profiled_run.profiled_run(replace(CASE, layers=1), 1, 1, path)
    export(path, tmp_path / "export", os_tracing=False)
    write_json(tmp_path / "benchmark.json", result)
    tables = case_tables(tmp_path / "export", tmp_path / "benchmark.json")
    assert tables["captures"]["family_coverage"][0] > 0.99


LAUNCHES_AROUND_A_PROFILE = """
import torch
from workflow_src.measure.activities import activities_of
from workflow_src.measure.machine import host_speed

fastest = lambda: min(host_speed("cuda")["host_operation_us"] for _ in range(5))
before = fastest()
activities_of(lambda: torch.ones(8, device="cuda").add_(1), "cuda")
print(fastest() / before)
"""


@pytest.mark.parametrize(("detached", "slower"), [("1", False), ("0", True)])
def test_a_profiler_slows_later_launches_unless_it_detaches(detached: str, slower: bool) -> None:
    command = [sys.executable, "-c", LAUNCHES_AROUND_A_PROFILE]
    known = os.environ | {"TEARDOWN_CUPTI": detached}
    ended = subprocess.run(command, env=known, capture_output=True, text=True, check=True)
    ratio = float(ended.stdout.split()[-1])
    print(f"TEARDOWN_CUPTI={detached}: an operation takes {ratio:.2f} times as long afterwards")
    assert (ratio > 1.2) == slower
