"""Device activities of a call, compared with the trace of the same call."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.test_operators import device_event, host_event
from workflow_src.captures.reading import read
from workflow_src.measure.activities import grouped
from workflow_src.measure.windows import DETACH, SESSIONS, profiled, torch_window
from workflow_src.model.ranges import range_

x = torch.randn(64, 64)


def kineto(profiler: torch.profiler.profile) -> Any:
    assert profiler.profiler is not None
    return profiler.profiler.kineto_results


def work() -> None:
    with range_("outer"):
        x @ x
        with range_("inner"):
            torch.softmax(x @ x, dim=-1)
    x + x


def test_a_session_that_recorded_nothing_is_repeated() -> None:
    """Seen on an H200: one session of many in a process had no kernel of those launched."""
    sessions = iter([[], [], ["kernel"], ["another"]])
    assert profiled(work, "cpu", lambda result: next(sessions)) == ["kernel"]
    with pytest.raises(RuntimeError, match=f"recorded nothing in {SESSIONS} sessions"):
        profiled(work, "cpu", lambda result: [])


def test_operators_have_the_self_time_that_the_trace_says(tmp_path: Path) -> None:
    with torch_window("cpu", work) as profiler:
        work()
    profiler.export_chrome_trace(str(tmp_path / "t.json.gz"))
    trace = read(tmp_path / "t.json.gz").work
    rows = grouped(kineto(profiler), "cpu")
    assert sum(row["busy_ns"] for row in rows) == trace["duration_ns"].sum()
    by_name = trace.groupby("name")["duration_ns"].sum().to_dict()
    assert {row["name"]: row["busy_ns"] for row in rows} == by_name


def test_on_a_device_neither_ranges_nor_calls_are_activities() -> None:
    events = [
        device_event("sgemm", 100, 5, duration_ns=2500),
        device_event("Memset (D", 90, 4, duration_ns=1000),
        device_event("sgemm", 200, 6, duration_ns=2500),
        device_event("triton_gelu", 300, 0, duration_ns=4000),
        device_event("scores", 90, 2, marks=True, duration_ns=9000),
        device_event("cudaDeviceSynchronize", 5, 4, kind="CPU"),
    ]
    rows = grouped(SimpleNamespace(events=lambda: events), "cuda")
    found = [(row["name"], row["calls"], row["busy_ns"]) for row in rows]
    assert found == [("sgemm", 2, 5000), ("triton_gelu", 1, 4000), ("Memset (D", 1, 1000)]


def test_on_a_cpu_an_operator_that_calls_one_of_its_name_is_one_with_it() -> None:
    inner = host_event("aten::sum", 2, 9, 2, host_event("aten::fill_", 3, 5, 3))
    twice = host_event("aten::to", 20, 30, 4, host_event("aten::to", 21, 23, 5),
        host_event("aten::copy_", 23, 29, 6))  # fmt: skip
    empty = host_event("aten::view", 31, 31, 7)
    roots = [host_event("aten::sum", 1, 10, 1, inner), twice, empty]
    found = grouped(SimpleNamespace(experimental_event_tree=lambda: roots), "cpu")
    rows = {row["name"]: (row["calls"], row["busy_ns"]) for row in found}
    assert rows == {
        "aten::sum": (1, 7), "aten::copy_": (1, 6), "aten::to": (1, 4), "aten::fill_": (1, 2),
    }  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), [(None, "1"), ("0", "0")])
def test_cupti_detaches_after_a_session_unless_it_is_told_not_to(
    monkeypatch: pytest.MonkeyPatch, given: str | None, expected: str
) -> None:
    monkeypatch.setenv(DETACH, given or "")
    if given is None:
        monkeypatch.delenv(DETACH)
    with torch_window("cpu", work):
        work()
    assert os.environ[DETACH] == expected
