import math
from typing import Any

import pytest
import torch

from workflow_src.common.errors import UnavailableError
from workflow_src.studies import tasks as engine
from workflow_src.studies.fusion import measure as fusion_measure
from workflow_src.studies.points import points

FEW: dict[str, Any] = {"totals": [256], "wake_s": 0, "warmup_steps": 0, "steps": 2}
FEW |= {"device": "cpu"}


def measured(**other: Any) -> list[dict[str, Any]]:
    _, softmax = points("fusion", "cpu", "small", {})
    return engine.rows(fusion_measure.tasks, softmax | FEW | {"columns": [64]} | other)


@pytest.mark.parametrize("shape", [(1, 10), (5, 2)])
def test_relative_error(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_measure, "CHUNK", 4)
    x = torch.ones(shape)
    assert fusion_measure.relative_error(1.5 * x, x, lambda x: x) == 0.5
    assert math.isnan(fusion_measure.relative_error(x * math.nan, x, lambda x: x))


def test_a_wrong_result_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (0.0, math.nan):
        changed = {"torch": lambda x, wrong=wrong: x * wrong}
        monkeypatch.setitem(
            fusion_measure.PLAIN, "softmax", fusion_measure.PLAIN["softmax"] | changed
        )
        with pytest.raises(RuntimeError, match="torch softmax float32: error"):
            measured()


def test_written_out_gelu_is_torchs() -> None:
    x = torch.linspace(-6, 6, 101, dtype=torch.float64)
    torch.testing.assert_close(fusion_measure.written_out_gelu(x), fusion_measure.torchs_gelu(x))


def test_torch_compile_without_a_compiler_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UnavailableError, match=r"needs a C\+\+ compiler"):
        fusion_measure.compiled_gelu("cpu")
