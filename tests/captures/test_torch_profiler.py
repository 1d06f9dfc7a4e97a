"""Traces of torch.profiler, made by hand: sound, foreign and damaged ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.captures.building import (
    busy,
    event,
    launched,
    notes,
    tables_in,
    trace_file,
    unplaced,
)
from workflow_src.captures.event_columns import nanoseconds
from workflow_src.captures.launches import REUSED

STEP = event("user_annotation", "step", 0, 100)


def tables(folder: Path, *events: Any, name: str = "c.json") -> Any:
    return tables_in(trace_file(folder, list(events), name))


@given(st.integers(0, 4 * 10**15), st.integers(0, 999))
def test_microseconds_become_exact_nanoseconds(whole: int, part: int) -> None:
    expected = whole * 1000 + part
    assert nanoseconds(f"{whole}.{part:03d}") == expected
    assert nanoseconds(f"-{whole}.{part:03d}") == -expected
    assert nanoseconds(whole) == whole * 1000


@pytest.mark.parametrize(
    ("text", "ns"),
    [("1.505e2", 150_500), ("2E3", 2_000_000), ("1.5e-1", 150), ("0e0", 0), ("12.3456", 12_345)],
)
def test_powers_of_ten_are_numbers_too(text: str, ns: int) -> None:
    assert nanoseconds(text) == ns


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "x",
        "e",
        "1e999999999",
        "1e-99999",
        "9" * 30,
        2**63,
        float("nan"),
        [1],
        "1.x",
    ],
)
def test_what_is_no_time_is_none(value: Any) -> None:
    assert nanoseconds(value) is None


@pytest.mark.parametrize("name", ["c.json", "c.json.gz", "trace"])
def test_a_kernel_belongs_to_the_range_open_at_its_launch(tmp_path: Path, name: str) -> None:
    inner = event("user_annotation", "backward", 10, 40)
    on_autograds_thread = launched(2, 20, 2, tid=9)
    found = tables(tmp_path, STEP, inner, *launched(1, 5), *on_autograds_thread, name=name)
    assert busy(found) == {"step": 1_000, "step/backward": 2_000}
    assert found["summary"]["devices"].tolist() == [1, 1]


@pytest.mark.parametrize("length", [-1, None, "long", True, float("inf")])
def test_one_kernel_of_bad_length_is_left_out_and_counted(tmp_path: Path, length: Any) -> None:
    bad = event("kernel", "bad", 20, length, args={"correlation": 1})
    found = tables(tmp_path, STEP, *launched(1, 5), bad)
    assert busy(found) == {"step": 1_000} and notes(found) == {"bad work": 1}


def test_a_missing_length_is_counted_also_of_ranges_and_calls(tmp_path: Path) -> None:
    bad_range = {k: v for k, v in event("user_annotation", "b", 1, 2).items() if k != "dur"}
    bad_call = event("cuda_runtime", "cudaLaunchKernel", 3, -2, args={"correlation": 8})
    found = tables(tmp_path, STEP, bad_range, bad_call, *launched(1, 5))
    assert busy(found) == {"step": 1_000}
    assert notes(found) == {"bad ranges": 1, "endless calls": 1, "lost kernels": 1}


def whole_text(count: int = 6) -> str:
    events = [STEP, *(e for n in range(count) for e in launched(n + 1, 5 + n))]
    return json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=1)


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 0.99])
def test_of_a_trace_that_is_cut_off_the_events_up_to_there_are_read(
    tmp_path: Path, share: float
) -> None:
    text = whole_text(50)
    found = tables_in(trace_file(tmp_path, text[: int(len(text) * share)]))
    assert notes(found)["cut off"] == 1
    placed = found["summary"]["placed_ns"].iloc[-1]
    assert share * 50_000 - 3_000 < placed <= 50_000


def test_of_compressed_data_that_end_too_early_the_events_are_read(tmp_path: Path) -> None:
    path = trace_file(tmp_path, whole_text(2_000), "c.json.gz")
    path.write_bytes(path.read_bytes()[:-2_000])
    found = tables_in(path)
    assert notes(found)["cut off"] == 1 and found["summary"]["total_ns"].iloc[-1] > 100_000


def test_an_event_with_a_bad_escape_is_left_out_and_counted(tmp_path: Path) -> None:
    text = whole_text().replace('"gemm"', '"C:\\users\\gemm"', 1)
    found = tables_in(trace_file(tmp_path, text))
    assert notes(found) == {"bad events": 1} and busy(found) == {"step": 5_000}


def test_bytes_that_are_no_utf8_and_half_characters_are_read(tmp_path: Path) -> None:
    text = json.dumps([STEP | {"name": "\ud800"}, *launched(1, 5)])
    found = tables_in(trace_file(tmp_path, text))
    assert busy(found) == {"\\\\ud800": 1_000}
    found["paths"].to_csv().encode()


def test_events_that_are_no_objects_are_counted(tmp_path: Path) -> None:
    metadata = {"ph": "M", "name": "process_name"}
    found = tables(tmp_path, STEP, 3, None, "x", metadata, {"a": 1}, *launched(1, 5))
    assert busy(found) == {"step": 1_000} and notes(found)["bad events"] >= 3


def test_numbers_that_processes_share_lead_nowhere(tmp_path: Path) -> None:
    """Traces of two ranks in one file: a kernel's event doesn't name its process."""
    other = [event("user_annotation", "step", 0, 100, pid=2), *launched(1, 5, pid=2)]
    own = [*launched(1, 5), *launched(3, 7, 4)]
    found = tables(tmp_path, STEP, *own, *other[:2])
    assert unplaced(found) == {REUSED: 1_000}
    assert busy(found) == {"step": 4_000} and notes(found) == {"several processes": 1}


def test_ranges_of_torch_and_nccl_are_libraries_and_others_with_a_number_are_not(
    tmp_path: Path,
) -> None:
    ddp = "DistributedDataParallel.forward"
    names = [ddp, "Optimizer.step#AdamW.step", "nccl:all_reduce", "batch #4"]
    ranges = [event("user_annotation", name, 0, 100 - n) for n, name in enumerate(names)]
    found = tables(tmp_path, *ranges, *launched(1, 5))
    assert busy(found) == {"batch #4": 1_000}
    counts = found["domains"].set_index("domain")["ranges"].to_dict()
    assert counts == {"default": 1, "torch": 2, "NCCL": 1}


def test_on_a_cpu_operators_take_the_place_of_kernels(tmp_path: Path) -> None:
    found = tables(
        tmp_path,
        STEP,
        event("cpu_op", "aten::linear", 10, 5),
        event("cpu_op", "aten::mm", 11, 3),
        event("cpu_op", "aten::mm", 12, 1),
        event("cpu_op", "aten::add", 200, 2),
    )
    assert busy(found) == {"step": 5_000}
    own = found["kernels"][["name", "activities", "busy_ns"]].to_numpy().tolist()
    assert own == [["aten::mm", 1, 3_000], ["aten::linear", 1, 2_000], ["aten::add", 1, 2_000]]
    every = found["summary"].iloc[-1]
    assert (every["unplaced_ns"], every["devices"], every["streams"]) == (2_000, 0, 0)


def test_old_traces_have_other_categories(tmp_path: Path) -> None:
    events = [STEP, *launched(1, 5)]
    for e, category in zip(events[1:], ("Runtime", "Kernel"), strict=True):
        e["cat"] = category
    assert busy(tables(tmp_path, *events)) == {"step": 1_000}
