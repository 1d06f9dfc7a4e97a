"""The torch.profiler trace reader on a handwritten trace and on a real one."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import ProfilerActivity, profile

from tests.test_ledger import idle, ledger_of
from workflow_src.captures.capture import API, OVERHEAD, PAGEABLE_COPY
from workflow_src.common.errors import TraceError
from workflow_src.model.ranges import listening, range_
from workflow_src.placing.attribution import attribute
from workflow_src.traces import kineto
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


def test_powers_of_ten_are_numbers_too() -> None:
    """1.505e2 us was read as 1505 ns."""
    text = pd.Series(["1.505e2", "1.5E-1", "12.345", "2e3", "0e0", "-1.5e0"])
    assert kineto.nanoseconds(text).tolist() == [150_500, 150, 12_345, 2_000_000, 0, -1_500]


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "one", "e", "nan", "inf"])
def test_what_is_no_time_is_refused(number: str) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        kineto.nanoseconds(pd.Series([number, "1.5"]))


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


def test_an_operator_shorter_than_the_clocks_tick_is_a_call(tmp_path: Path) -> None:
    path = trace_file(
        tmp_path,
        event("cpu_op", "aten::mm", "2.000", "1.000"),
        event("cpu_op", "aten::resolve_conj", "2.000", "0"),
        event("cpu_op", "aten::resolve_conj", "2.500", "0.030"),
        event("cpu_op", "aten::resolve_conj", "3.000", "0.000"),
    )
    activities = kineto.read(path).activities
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
    activities = kineto.read(path).activities
    rows = activities[["name", "start_ns", "end_ns", "duration_ns"]].to_numpy().tolist()
    assert rows == [
        ["aten::addmm", 1_000, 10_000, 9_000 - 3_000 - 1_000],
        ["aten::to", 2_000, 5_000, 3_000],
        ["aten::addmm", 8_000, 9_000, 1_000],
        ["Checkpoint", 20_000, 23_000, 2_000],
        ["Checkpoint", 21_000, 22_000, 1_000],
        ["aten::addmm", 30_000, 31_000, 1_000],
    ]


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
    trace = read_trace(folder)
    pd.testing.assert_frame_equal(trace.calls, kineto.read(path).calls)
    rows = trace.calls[["kind", "name", "start_ns", "end_ns", "correlation"]].to_numpy().tolist()
    assert rows == [
        [API, "cudaLaunchKernel", 100, 150, 11],
        [PAGEABLE_COPY, "cudaMemcpyAsync", 310, 510, 12],
        [OVERHEAD, "Buffer Flush", 520, 550, -1],
        [API, "cudaDeviceSynchronize", 600, 900, 13],
    ]
    assert trace.activities["launch_end_ns"].tolist() == [150, 510]
    table = ledger_of(trace)
    # 0 to 150 launch, 150 to 200 queued, 300 to 310 launch, 310 to 400 the copy's call; after the
    # copy the rest of that call and 60 ns of the host, less 30 ns overhead, then the wait.
    expected = {"launch": 160, "queued": 50, "synchronization": 90 + 70, "profiler": 30}
    assert idle(table) == expected | {"tail": 400}


def test_an_export_written_before_calls_were_kept_has_no_causes(tmp_path: Path) -> None:
    path, folder = trace_file(tmp_path, *gpu_events()), tmp_path / "export"
    export(path, folder, os_tracing=False)
    with closing(sqlite3.connect(folder / "trace.sqlite")) as connection:
        connection.execute("DROP TABLE calls")
        connection.execute("ALTER TABLE activities DROP COLUMN launch_end_ns")
        connection.commit()
    table = ledger_of(read_trace(folder))
    assert table["device_active_ns"].tolist() == [200] and table["idle_launch_ns"].isna().all()


def test_on_a_cpu_there_are_no_causes(tmp_path: Path) -> None:
    events = [
        event("user_annotation", "forward", "0.000", "1.000"),
        event("cpu_op", "aten::linear", "0.200", "0.300"),
        event("cpu_op", "aten::mm", "0.300", "0.100"),
    ]
    table = ledger_of(kineto.read(trace_file(tmp_path, *events)))
    assert table[["device_active_ns", "busy_ns", "idle_ns"]].to_numpy().tolist() == [
        [300, 300, 700]
    ]
    assert table["idle_launch_ns"].isna().all()


@pytest.mark.parametrize(
    "content", [b"", b"not gzip", gzip.compress(b'{"traceEvents": [', mtime=0)]
)
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
