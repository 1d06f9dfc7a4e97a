"""Traces of torch.profiler, made by hand: sound, foreign and damaged ones."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tests.captures.building import (
    busy,
    event,
    launched,
    notes,
    tables_in,
    trace_file,
    unplaced,
)
from tests.golden import DATA
from workflow_src.captures.export_case import export
from workflow_src.common.errors import TraceError
from workflow_src.model.ranges import listening, range_
from workflow_src.placing.case_capture import read_case
from workflow_src.placing.placing import NO_CALL

STEP = event("user_annotation", "step", 0, 100)


def tables(folder: Path, *events: Any, name: str = "c.json") -> Any:
    return tables_in(trace_file(folder, list(events), name))


def call(at: int, length: Any) -> Any:
    return event("cuda_runtime", "cudaLaunchKernel", at, length, args={"correlation": 8})


def unread(category: str) -> list[Any]:
    """An operator, and what may be the work of a device in an event that isn't read."""
    work = event(category, "pe_exe", 5, 50, tid=7, args={"stream": 7})
    return [event("cpu_op", "aten::mm", 0, 10), work]


def apart(*marks: str) -> list[Any]:
    """Beginnings and ends of ranges, each a phase, a name, a time and maybe a thread; and work."""
    rows = [[*mark.split(" "), "1"] for mark in marks]
    return launched(1, 5) + [
        event("user_annotation", name or None, int(at), None, ph=phase, tid=int(tid))
        for phase, name, at, tid, *_ in rows
    ]


LATER = 10**15
OTHERS = [event("user_annotation", "step", 0, 100, pid=2), *launched(3, 5, pid=2)[:1]]
CASES = [
    # Events besides a step, device time by path and (us) without a known launch, and notes.
    *[([*launched(1, 5), event("kernel", "bad", 20, length)], {"step": 1_000}, 0, {"bad work": 1})
      for length in (-1, None, "long", True, float("inf"))],
    ([event("user_annotation", "b", 1, None), call(3, -2), *launched(1, 5)], {"step": 1_000}, 0,
     {"bad ranges": 1, "endless calls": 1, "lost kernels": 1}),
    ([3, None, "x", {"ph": "M", "name": "process_name"}, {"a": 1}, *launched(1, 5)],
     {"step": 1_000}, 0, {"bad events": 4}),
    # Half a character, as of a name that was cut.
    ([event("user_annotation", "a\ud800", 1, 9), *launched(1, 5, name="\udc00")],
     {"step": 0, "step/a?": 1_000}, 0, {}),
    # Ranges that begin and end apart: by thread, by time, and never.
    (apart("B a 1", "B b 2", "E b 8", "E a 9"), {"step": 0, "step/a": 0, "step/a/b": 1_000}, 0, {}),
    (apart("B a 1", "B b 2", "E b 4", "E x 9"), {"step": 0, "step/a": 1_000, "step/a/b": 0}, 0, {}),
    (apart("B a 0 2", "B a 1", "E a 3 2", "E a 9"), {"step": 0, "step/a": 1_000, "a": 0}, 0, {}),
    (apart("E a 9", "E a 4", "B a 4", "B a 1"), {"step": 0, "step/a": 1_000}, 0, {}),
    (apart("B a 1"), {"step": 0, "step/a": 1_000}, 0, {"unclosed": 1}),
    (apart("B a 1", "E a 9", "E a 9"), {"step": 0, "step/a": 1_000}, 0, {"bad events": 1}),
    # Work that never ends.
    ([launched(1, 5)[0], launched(1, 5)[1] | {"ph": "B"}, *launched(2, 7)], {"step": 1_000}, 0,
     {"bad work": 1}),
    # Ranks in one file: a kernel's event doesn't name its process, and numbers are those of both.
    ([*launched(1, 5, 4), *launched(3, 7), *OTHERS], {"step": 4_000}, 1, {"reused numbers": 1}),
    ([*launched(1, 5), *launched(2, 50), *launched(1, 5.2), *launched(3, 60)], {"step": 2_000}, 2,
     {"reused numbers": 2}),
    # A kernel without its call is a device's all the same.
    ([event("cpu_op", "aten::mm", 0, 10), launched(1, 5)[1]], {"step": 0}, 1, {}),
    # Of operators beside work that isn't read, nobody knows whether they are all.
    (unread("mtia_ccp_events"), {"step": 0}, 0, {"unread events": 1, "no work": 1}),
    (unread(""), {"step": 0}, 0, {"unread events": 1, "no work": 1}),
    # The step and a call are of another epoch.
    ([event("user_annotation", "later", LATER, 100), *launched(1, LATER + 5), *launched(2, 0)[:1],
      *launched(2, LATER + 9)[1:]], {"later": 1_000}, 1, {"impossible": 2}),
    # It runs on for half a minute after the last call.
    (launched(1, 5, 30_000_000), {"step": 30_000_000_000}, 0, {}),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected", "nowhere_us", "said"), CASES)
def test_what_cannot_be_placed_or_read_is_left_out_and_counted(
    tmp_path: Path,
    events: list[Any],
    expected: dict[str, int],
    nowhere_us: int,
    said: dict[str, int],
) -> None:
    found = tables(tmp_path, STEP, *events)
    assert busy(found) == expected and notes(found) == said
    assert unplaced(found) == ({NO_CALL: 1_000 * nowhere_us} if nowhere_us else {})


@pytest.mark.parametrize("name", ["s_ascend.json", "t_tf_jax.json"])
def test_another_profilers_trace_is_named_with_what_to_do(name: str) -> None:
    with pytest.raises(TraceError, match=r"and 6 of kinds that aren't read here, as"):
        tables_in(DATA / "strangers" / name)


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


def test_an_event_with_a_bad_escape_is_left_out_and_counted(tmp_path: Path) -> None:
    text = whole_text().replace('"gemm"', '"C:\\users\\gemm"', 1)
    found = tables_in(trace_file(tmp_path, text))
    assert notes(found) == {"bad events": 1} and busy(found) == {"step": 5_000}


def test_bytes_that_are_no_utf8_are_read(tmp_path: Path) -> None:
    path = trace_file(tmp_path, [STEP | {"name": "caf\N{BLACK SQUARE}"}, *launched(1, 5)])
    path.write_bytes(path.read_bytes().replace(b"\\u25a0", b"\xe9"))
    assert busy(tables_in(path)) == {"caf\N{REPLACEMENT CHARACTER}": 1_000}


def test_ranges_of_torch_and_nccl_are_libraries_and_others_with_a_number_are_not(
    tmp_path: Path,
) -> None:
    ddp = "DistributedDataParallel.forward"
    names = [ddp, "Optimizer.step#AdamW.step", "nccl:all_reduce", "batch #4"]
    ranges = [event("user_annotation", name, 0, 100 - n) for n, name in enumerate(names)]
    found = tables(tmp_path, *ranges, *launched(1, 5))
    assert busy(found) == {"batch #4": 1_000}
    counts = found["notes"].set_index("about")["count"].to_dict()
    assert counts == {"torch": 2, "NCCL": 1}


def test_a_real_trace_conserves_torchs_own_total(tmp_path: Path) -> None:
    """Sum of self times = torch's "Self CPU time total"."""
    layer = torch.nn.Linear(32, 32)
    kinds = [ProfilerActivity.CPU]
    with profile(activities=kinds) as profiler, listening("torch"), range_("forward"):
        layer(torch.randn(8, 32)).sum().backward()
    path, folder = tmp_path / "c.kineto.json.gz", tmp_path / "export"
    profiler.export_chrome_trace(str(path))
    export(path, folder)
    case = read_case(folder)
    assert (case.work["range"] == 0).all() and case.ranges["path"].tolist() == ["forward"]
    operators = [e for e in profiler.key_averages() if e.key != "forward"]
    total_us = sum(e.self_cpu_time_total for e in operators)
    assert case.placed.capture.total_ns == pytest.approx(total_us * 1000, abs=len(case.work))
