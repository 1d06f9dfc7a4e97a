"""The file to copy beside a training script writes a trace whose ranges and steps are read."""

import importlib.util
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.captures.building import tables_in
from tests.workflow import ROOT

FILE = ROOT / "examples" / "training_script" / "profile_ranges.py"
PATHS = ["", "backward", "forward", "forward/0", "forward/1", "forward/1/2", "optimizer"]


def test_three_steps_are_captured_with_their_parts_and_nothing_stays_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("profile_ranges", FILE)
    assert spec and spec.loader
    ranges = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ranges)
    monkeypatch.setattr(ranges, "FOLDER", str(tmp_path))
    backward = torch.autograd.backward
    inner = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Sequential(nn.Linear(8, 8)))
    model = nn.Sequential(nn.Linear(8, 8), inner)
    optimizer = torch.optim.SGD(model.parameters())
    for batch in ranges.Capture(model, first=2).steps(torch.randn(7, 4, 8)):
        optimizer.zero_grad()
        model(batch).square().sum().backward()
        optimizer.step()
    assert torch.autograd.backward is backward
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())
    tables = tables_in(tmp_path / "rank0.json.gz", fold="")
    assert tables["steps"]["path"].tolist() == ["step"] * 3
    assert {"/".join(filter(None, ["step", path])) for path in PATHS} <= {*tables["paths"]["path"]}
