"""A compiled case: its first call, its graphs, its one range, and what can't be compiled."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch._inductor import cpp_builder
from torch._inductor.exc import InvalidCxxCompiler

from workflow_src.common.case import Case
from workflow_src.measure import benchmark
from workflow_src.measure.compiling import NO_COMPILER, compile_whole, first_call, refused
from workflow_src.measure.module_ranges import ForwardThenLoss
from workflow_src.measure.profiled_run import warm_up
from workflow_src.measure.workload import build
from workflow_src.model import ranges
from workflow_src.model.ranges import range_
from workflow_src.tables.measured import timings

CASE = Case("c", "c", 8, 8, 1, 2, 10, 1, 4, "fp32", "naive", "adamw", "cpu", execution="compiled")


class Printing(nn.Module):
    """Two products with something between them that no graph can hold."""

    def forward(self, x: Tensor) -> Tensor:
        """As x, of any shape."""
        with range_("inside"):
            x = x @ x
            print("between")
            return x @ x


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.compile that runs the graphs as they are, and generates no code."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))


def test_the_first_call_tells_graphs_and_why_they_ended(quick: None) -> None:
    model, x = Printing(), torch.ones(2, 2)
    compile_whole(model)
    first = first_call(lambda: model(x), "cpu")
    (taken,), (reason,) = first["first_call_ns"], first["break_reasons"]
    assert first["graphs"] == 2 and "print" in reason
    again = first_call(lambda: model(x), "cpu")
    assert (again["graphs"], again["break_reasons"]) == (0, [])
    assert again["first_call_ns"][0] < taken


def test_a_model_that_is_a_module_of_torch_is_compiled_too(quick: None) -> None:
    """torch.compile skips the frames of torch.nn: nn.Sequential.compile() would compile nothing."""
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(2, 2)
    compile_whole(model)
    assert first_call(lambda: model(x), "cpu")["graphs"] == 1


def test_what_is_compiled_is_one_range(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    def hear(name: str) -> object:
        heard.append(name)
        return ranges._SILENT

    monkeypatch.setattr(ranges, "_emit", hear)
    model, told = Printing(), ForwardThenLoss()
    compile_whole(model)
    with told.of(model), told:
        model(torch.ones(2, 2))
        with range_("after"):
            pass
    assert heard == ["forward", "compiled", "loss", "after"]


def test_without_a_compiler_each_phase_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> str:
        raise InvalidCxxCompiler

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", missing)
    built = build(CASE)
    rows = benchmark.measure(CASE, 1, 2, built)
    said = {(row["status"], row["reason"]) for row in rows.values()}
    assert len(rows) == 3 and said == {("skipped", NO_COMPILER["cpu"])}
    assert built[0] and warm_up(built[0], 1) == []
    assert timings({"phases": rows})["status"].tolist() == ["skipped"] * 3


def test_what_cannot_be_compiled_is_a_row_with_the_reason() -> None:
    def refuse(graph: object, inputs: object) -> None:
        raise ValueError("no such luck\nand more of it")

    model = torch.compile(nn.Linear(2, 2), backend=refuse)
    row = refused(lambda: model(torch.ones(2, 2)), "cpu")
    assert row == {"status": "failed", "reason": "torch.compile: ValueError: no such luck"}
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        refused(lambda: torch.ones(2, 3) @ torch.ones(2, 3), "cpu")


def test_time_to_compile_is_the_first_call_less_a_steady_one() -> None:
    row = {"status": "ok", "reason": "", "samples_ns": [4_000_000] * 3, "peak_memory_mib": 1.0}
    row |= {"first_call_ns": [9_000_000, 11_000_000], "graphs": 2, "break_reasons": ["why"]}
    (cells,) = timings({"phases": {"forward": row}}).to_dict("records")
    assert cells["compile_ms"] == 6.0
    assert (cells["graphs"], cells["graph_breaks"]) == (2, 1)
    assert cells["graph_break_reasons"] == "why"
    (again,) = timings({"phases": {"forward": row | {"graphs": 0}}}).to_dict("records")
    assert again["compile_ms"] is None
