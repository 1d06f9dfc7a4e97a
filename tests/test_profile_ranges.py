"""The file to copy beside a training script: ranges of modules in backward, from torch 2.14 on."""

import importlib.util
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.workflow import ROOT
from workflow_src.captures.capture import frame
from workflow_src.captures.reading import read
from workflow_src.placing.attributed import attributed
from workflow_src.placing.step_rules import BY_MODULE

torch = pytest.importorskip("torch")

FILE = ROOT / "examples" / "training_script" / "profile_ranges.py"
HAS_HOOK = hasattr(torch.autograd.graph, "node_creation_hook")


class Block(torch.nn.Module):  # type: ignore[name-defined, misc]
    """A block whose forward runs again in backward, if that is asked for."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.up, self.down, self.again = torch.nn.Linear(8, 32), torch.nn.Linear(32, 8), again

    def forward(self, x: Any) -> Any:
        if self.again:
            return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)
        return self.inner(x)

    def inner(self, x: Any) -> Any:
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def trained(folder: Path, patch: pytest.MonkeyPatch, again: bool, gradients: bool) -> list[Any]:
    """All gradients of six steps, whose ranges nsys would record; torch.profiler does, instead."""
    spec = importlib.util.spec_from_file_location("profile_ranges", FILE)
    assert spec and spec.loader
    ranges = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ranges)
    still_open, recorder = threading.local(), torch.profiler.profile()

    def push(name: str) -> None:
        vars(still_open).setdefault("all", []).append(torch.profiler.record_function(name))
        still_open.all[-1].__enter__()

    patch.setattr(ranges, "NSYS", True)
    patch.setattr(torch.cuda.nvtx, "range_push", push)
    patch.setattr(torch.cuda.nvtx, "range_pop", lambda: still_open.all.pop().__exit__(*[None] * 3))
    patch.setattr(torch.cuda.profiler, "start", recorder.start)
    patch.setattr(torch.cuda.profiler, "stop", recorder.stop)
    torch.manual_seed(0)
    model = torch.nn.Sequential(Block(again), Block(again))
    capture, found = ranges.Capture(model, first=1, gradients=gradients), list[Any]()
    for batch in capture.steps(torch.randn(6, 4, 8)):
        model.zero_grad()
        model(batch).square().sum().backward()
        found += [each.grad.clone() for each in model.parameters()]
    recorder.export_chrome_trace(str(folder / f"{gradients}.json"))
    assert not still_open.all
    return found


@pytest.mark.skipif(not HAS_HOOK, reason="torch before 2.14 has no node_creation_hook")
@pytest.mark.parametrize("again", [False, True])
def test_ranges_in_backward_agree_with_sequence_numbers_and_change_no_gradient(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    plain, hooked = (trained(tmp_path, monkeypatch, again, asked) for asked in (False, True))
    assert all(torch.equal(*pair) for pair in zip(plain, hooked, strict=True))
    names = {str(name) for name in read(tmp_path / "False.json").ranges["name"]}
    assert "step" in names and not {BY_MODULE, "gradients"} & names
    capture = read(tmp_path / "True.json")
    by_number = attributed(capture, None).work["made_in"].to_numpy()
    vars(capture)["operators"] = frame("operators", {})
    found = attributed(capture, None)
    by_range, steps = found.work["made_in"].to_numpy(), found.placed.ranges[found.steps.is_step]
    told = by_range >= 0
    assert steps["name"].tolist() == ["step"] * 3
    assert told.sum() > 50 and (by_range[told] == by_number[told]).all()
    assert {BY_MODULE} == {path.split("/")[0] for path in found.paths.text[by_range[told]]}
