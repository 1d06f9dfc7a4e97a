"""The torch.profiler trace reader on a handwritten trace and on a real one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import ProfilerActivity, profile

from workflow_src.common.errors import TraceError
from workflow_src.model.ranges import listening, range_
from workflow_src.traces import kineto
from workflow_src.traces.attribution import attribute
from workflow_src.traces.export import export, read_trace


def event(category: str, name: str, ts: str, dur: str, tid: int = 1, **args: Any) -> str:
    about = json.dumps({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid})
    return f'{about[:-1]}, "ts": {ts}, "dur": {dur}, "args": {json.dumps(args)}}}'


def trace_file(folder: Path, *events: str) -> Path:
    path = folder / "c.kineto.json.gz"
    with gzip.open(path, "wt") as file:
        file.write(f'{{"traceEvents": [{", ".join(events)}]}}')
    return path


@given(st.integers(0, 9 * 10**15), st.integers(0, 999))
def test_microseconds_become_exact_nanoseconds(whole: int, part: int) -> None:
    """Parsing as float64 would lose digits: it holds 16, these have up to 19."""
    text = pd.Series([f"{whole}.{part:03d}", str(whole), f"{whole}.{part:03d}".rstrip("0")])
    expected = whole * 1000 + part
    assert kineto.nanoseconds(text).tolist() == [expected, whole * 1000, expected]


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
    trace = kineto.read(path)
    assert trace.ranges["name"].tolist() == ["forward"]
    own = trace.activities.groupby("name")["duration_ns"].sum().to_dict()
    assert own == {"aten::linear": 2_999, "aten::mm": 2_001, "aten::add": 500}
    assert trace.total_ns == 5_500


def test_on_a_gpu_kernels_take_the_launch_calls_time_and_thread(tmp_path: Path) -> None:
    path = trace_file(
        tmp_path,
        event("user_annotation", "backward", "1.000", "9.000"),
        event("cpu_op", "aten::mm", "2.000", "3.000", tid=7, **{"External id": 5}),
        event("cuda_runtime", "cudaLaunchKernel", "3.000", "0.100", tid=7, correlation=11),
        event("kernel", "sgemm", "20.000", "4.000", tid=99, correlation=11, **{"External id": 5}),
        event("gpu_memset", "Memset (Device)", "30.000", "1.000", tid=99, correlation=12),
        event("gpu_user_annotation", "backward", "20.000", "4.000", tid=99),
    )
    trace = kineto.read(path)
    kernel, memset = trace.activities.to_dict("records")
    assert (kernel["launch_ns"], kernel["thread"], kernel["operator"]) == (3_000, 7, "aten::mm")
    assert (memset["kind"], memset["launch_ns"]) == ("set", -1)
    ranges, activities = attribute(trace)
    assert ranges["path"][activities["range"][0]] == "backward"


@pytest.mark.parametrize("content", [b"", b"not gzip", gzip.compress(b'{"traceEvents": [')])
def test_a_corrupt_trace_gives_a_one_sentence_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.kineto.json.gz"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"not a readable torch.profiler trace"):
        kineto.read(path)


def test_a_real_trace_conserves_torchs_own_total(tmp_path: Path) -> None:
    """Sum of self times = torch's "Self CPU time total"."""
    layer = torch.nn.Linear(32, 32)
    kinds = [ProfilerActivity.CPU]
    with profile(activities=kinds) as profiler, listening("torch"), range_("forward"):
        layer(torch.randn(8, 32)).sum().backward()
    path, folder = tmp_path / "c.kineto.json.gz", tmp_path / "export"
    profiler.export_chrome_trace(str(path))
    export(path, folder, os_tracing=False)
    trace = read_trace(folder)
    ranges, activities = attribute(trace)
    assert (activities["range"] == 0).all() and ranges["path"].tolist() == ["forward"]
    operators = [e for e in profiler.key_averages() if e.key != "forward"]
    total_us = sum(e.self_cpu_time_total for e in operators)
    assert trace.total_ns == pytest.approx(total_us * 1000, abs=len(activities))
