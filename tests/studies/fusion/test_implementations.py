import pytest
import torch

from workflow_src.common.errors import UnavailableError
from workflow_src.studies.fusion import measure


def test_written_out_gelu_is_torchs() -> None:
    x = torch.linspace(-6, 6, 101, dtype=torch.float64)
    torch.testing.assert_close(measure.written_out_gelu(x), measure.torchs_gelu(x))


def test_torch_compile_without_a_compiler_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UnavailableError, match=r"needs a C\+\+ compiler"):
        measure.compiled_gelu("cpu")
