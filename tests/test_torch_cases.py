"""Captures of cases by torch.profiler: made by hand, and a real one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tests.test_ledger import idle, ledger_of
from workflow_src.captures.capture import API, OVERHEAD, PAGEABLE_COPY
from workflow_src.captures.export_case import export
from workflow_src.captures.reading import read
from workflow_src.model.ranges import listening, range_
from workflow_src.placing.case_capture import placed_case, read_case


def event(category: str, name: str, ts: str, dur: str, tid: int = 1, **args: Any) -> str:
    about = json.dumps({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid})
    return f'{about[:-1]}, "ts": {ts}, "dur": {dur}, "args": {json.dumps(args)}}}'


def trace_file(folder: Path, *events: str) -> Path:
    path = folder / "c.kineto.json.gz"
    with gzip.open(path, "wt") as file:
        file.write(f'{{"traceEvents": [{", ".join(events)}]}}')
    return path


def test_on_a_cpu_activities_are_operators_with_their_self_time(tmp_path: Path) -> None:
    path = trace_file(
        tmp_path,
        event("user_annotation", "forward", "1.000", "9.500"),
        event("user_annotation", "ProfilerStep#1", "0", "20"),
        event("user_annotation", "Optimizer.step#AdamW.step", "1", "2"),
        event("cpu_op", "aten::linear", "2.000", "5.000"),
        event("cpu_op", "aten::mm", "3.000", "1.001"),
        event("cpu_op", "aten::mm", "4.001", "1.000"),
        event("cpu_op", "aten::add", "12.000", "0.500", tid=2),
    )
    case = placed_case(read(path))
    assert case.ranges["name"].tolist() == ["forward"]
    own = case.work.groupby("name")["duration_ns"].sum().to_dict()
    assert own == {"aten::linear": 2_999, "aten::mm": 2_001, "aten::add": 500}
    assert case.capture.total_ns == 5_500


def test_an_operator_shorter_than_the_clocks_tick_is_a_call(tmp_path: Path) -> None:
    path = trace_file(
        tmp_path,
        event("cpu_op", "aten::mm", "2.000", "1.000"),
        event("cpu_op", "aten::resolve_conj", "2.000", "0"),
        event("cpu_op", "aten::resolve_conj", "2.500", "0.030"),
        event("cpu_op", "aten::resolve_conj", "3.000", "0.000"),
    )
    activities = read(path).work
    assert activities["name"].value_counts()["aten::resolve_conj"] == 3
    assert activities.groupby("name")["duration_ns"].sum().to_dict() == {
        "aten::mm": 970,
        "aten::resolve_conj": 30,
    }


def test_an_operator_that_calls_its_own_name_is_one_call_with_it(tmp_path: Path) -> None:
    """Autocast's addmm calls addmm; a second one in it, or in a function, is a call of its own."""
    path = trace_file(
        tmp_path,
        event("cpu_op", "aten::addmm", "1.000", "9.000"),
        event("cpu_op", "aten::to", "2.000", "3.000"),
        event("cpu_op", "aten::addmm", "5.000", "2.000"),
        event("cpu_op", "aten::addmm", "5.500", "1.000"),
        event("cpu_op", "aten::addmm", "8.000", "1.000"),
        event("cpu_op", "Checkpoint", "20.000", "3.000"),
        event("cpu_op", "Checkpoint", "21.000", "1.000"),
        event("cpu_op", "aten::addmm", "30.000", "1.000", tid=2),
    )
    activities = read(path).work
    rows = activities[["name", "start_ns", "end_ns", "duration_ns"]].to_numpy().tolist()
    assert rows == [
        ["aten::addmm", 1_000, 10_000, 9_000 - 3_000 - 1_000],
        ["aten::to", 2_000, 5_000, 3_000],
        ["aten::addmm", 8_000, 9_000, 1_000],
        ["Checkpoint", 20_000, 23_000, 2_000],
        ["Checkpoint", 21_000, 22_000, 1_000],
        ["aten::addmm", 30_000, 31_000, 1_000],
    ]


def gpu_events() -> list[str]:
    """A step with a kernel, a copy from pageable memory, a wait, and overhead of the profiler."""
    return [
        event("user_annotation", "forward", "0.000", "1.000"),
        event("cuda_runtime", "cudaLaunchKernel", "0.100", "0.050", correlation=11),
        event("kernel", "sgemm", "0.200", "0.100", tid=99, correlation=11),
        event("cuda_runtime", "cudaMemcpyAsync", "0.310", "0.200", correlation=12),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "0.400", "0.100", correlation=12),
        event("overhead", "Buffer Flush", "0.520", "0.030", tid=0),
        event("cuda_runtime", "cudaDeviceSynchronize", "0.600", "0.300", correlation=13),
        event("cpu_op", "aten::mm", "0.050", "0.100"),
    ]


def test_api_calls_and_overhead_of_a_gpu_trace_survive_the_export(tmp_path: Path) -> None:
    path, folder = trace_file(tmp_path, *gpu_events()), tmp_path / "export"
    export(path, folder, os_tracing=False)
    case = read_case(folder)
    calls = case.capture.calls.sort_values("start_ns")
    rows = calls[["kind", "name", "start_ns", "end_ns", "correlation"]].to_numpy().tolist()
    assert rows == [
        [API, "cudaLaunchKernel", 100, 150, 11],
        [PAGEABLE_COPY, "cudaMemcpyAsync", 310, 510, 12],
        [OVERHEAD, "Buffer Flush", 520, 550, -1],
        [API, "cudaDeviceSynchronize", 600, 900, 13],
    ]
    assert case.work["launch_end_ns"].tolist() == [150, 510]
    table = ledger_of(case)
    # 0 to 150 launch, 150 to 200 queued, 300 to 310 launch, 310 to 400 the copy's call; after the
    # copy the rest of that call and 60 ns of the host, less 30 ns overhead, then the wait.
    expected = {"launch": 160, "queued": 50, "synchronization": 90 + 70, "profiler": 30}
    assert idle(table) == expected | {"tail": 400}


def test_a_real_trace_conserves_torchs_own_total(tmp_path: Path) -> None:
    """Sum of self times = torch's "Self CPU time total"."""
    layer = torch.nn.Linear(32, 32)
    kinds = [ProfilerActivity.CPU]
    with profile(activities=kinds) as profiler, listening("torch"), range_("forward"):
        layer(torch.randn(8, 32)).sum().backward()
    path, folder = tmp_path / "c.kineto.json.gz", tmp_path / "export"
    profiler.export_chrome_trace(str(path))
    export(path, folder, os_tracing=False)
    case = read_case(folder)
    assert (case.work["range"] == 0).all() and case.ranges["path"].tolist() == ["forward"]
    operators = [e for e in profiler.key_averages() if e.key != "forward"]
    total_us = sum(e.self_cpu_time_total for e in operators)
    assert case.capture.total_ns == pytest.approx(total_us * 1000, abs=len(case.work))
