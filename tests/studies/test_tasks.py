"""The engine that measures tasks, its refusals, and the points that it is given."""

from pathlib import Path

import pytest
import torch

from workflow_src.common.errors import StageError, UnavailableError
from workflow_src.studies import points as of_files
from workflow_src.studies import refusals
from workflow_src.studies.points import points
from workflow_src.studies.tasks import Task, rows

POINT = {"device": "cpu", "warmup_steps": 0, "steps": 2}


def out_of_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")


def unavailable() -> None:
    raise UnavailableError("no compiler")


def test_what_happens_to_a_task_is_its_row() -> None:
    calls: list[int] = []
    made = [
        Task({"name": "a"}, lambda: lambda: calls.append(1)),
        Task({"name": "b"}, lambda: lambda: torch.ones(2) + 1, profiled=True),
        Task({"name": "c"}, out_of_memory, ladder="steps"),
        Task({"name": "d"}, lambda: calls.append, ladder="steps"),
        Task({"name": "e"}, lambda: {"peak": 3}, ladder="others"),
        Task({"name": "f"}, unavailable),
        Task({"name": "g", "rows": 2}, lambda: {"several": [{"x": 1}, {"x": 2}]}),
    ]
    found = rows(lambda point: made, POINT)
    states = [row["status"] for row in found]
    assert states == ["ok", "ok", "oom", "skipped", "ok", "skipped", "ok", "ok"]
    assert len(calls) == 2 and len(found[0]["samples_ns"]) == 2 and "activities" not in found[0]
    assert found[1]["activities"]
    assert "than c" in found[3]["reason"] and found[4]["peak"] == 3
    assert found[5]["reason"] == "no compiler"
    assert [(row["name"], row["rows"], row["x"]) for row in found[6:]] == [("g", 2, 1), ("g", 2, 2)]
    assert all(row["device"] == "cpu" for row in found)


TEXT = """
small:
- {point: "x", dims: {cpu: [1], cuda: [2]}, deep: {b: {full: 1, small: [{cpu: 3}, {cpu: 4}]}}}
full:
- {point: "y", sizes: [s]}
- {point: "z", sizes: [none]}
- {point: "all", sizes: all}
- {point: "own", sizes: {deep: {small: {layers: 2}, full: {layers: 3}}}, vocabulary: 2}
"""


def test_machine_and_scale_choose_what_points_measure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(of_files, "__file__", str(tmp_path / "points.py"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "points.yaml").write_text(TEXT)
    settings = {"sizes": {"s": {"layers": 1}}, "vocabulary": 8}
    assert points("mine", "cpu", "small", settings) == [
        {"point": "x", "dims": [1], "deep": {"b": [3, 4]}}
    ]
    named, whole, own = points("mine", "cuda", "full", settings)
    configured = {"vocabulary": 8, "sizes": settings["sizes"]}
    assert named == {"point": "y"} | configured and whole == {"point": "all"} | configured
    assert own == {"point": "own", "sizes": {"deep": {"layers": 3}}, "vocabulary": 2}
    (tmp_path / "mine" / "points.yaml").write_text("{")
    with pytest.raises(StageError, match=r"points.yaml can't be read"):
        points("mine", "cpu", "small", settings)


def test_a_missing_compiler_is_a_refusal():
    class InvalidCxxCompiler(RuntimeError):
        pass

    def fail() -> None:
        error = RuntimeError("backend failed")
        error.inner_exception = InvalidCxxCompiler("No working C++ compiler found in x. More")
        raise error

    said = r"^No working C\+\+ compiler found in x$"
    with pytest.raises(UnavailableError, match=said), refusals.refusing():
        fail()


def test_the_reason_is_what_torch_warned_of():
    said = [
        "Flash attention kernel not used because: (Triggered internally at a.cpp:1.)",
        "Expected query to be half (Triggered internally\n at b.cpp:2.)",
        "Memory Efficient attention has been runtime disabled. (Triggered internally)",
    ]
    assert refusals.reason_of("No available kernel.", said) == "Expected query to be half"
