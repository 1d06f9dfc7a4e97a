"""The Triton kernels against float64: in Triton's interpreter, and on a GPU."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.workflow import ROOT
from workflow_src.common.devices import cuda_devices

triton = pytest.importorskip("triton")

# Triton reads the variable at import, so interpreted tests run in a separate process.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
interpreted = pytest.mark.skipif(not INTERPRETED, reason="runs in Triton's interpreter")
on_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(INTERPRETED or not cuda_devices(), reason="needs a CUDA device"),
]
# Triton's interpreter truncates float32 to bfloat16 where a GPU rounds.
TOLERANCE = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
DTYPES = list(TOLERANCE)
SHAPES = ((3, 1), (5, 7), (33, 128), (2, 4096), (2, 16385), (1, 32768))


def softmax_exactly(x: Tensor) -> Tensor:
    return torch.softmax(x.double(), dim=-1)


def softmax(x: Tensor) -> Tensor:
    from workflow_src.ops import softmax

    return softmax.softmax(x)


def agree(found: Tensor, exact: Tensor) -> None:
    assert found.shape == exact.shape and found.is_contiguous()
    error = (found.double() - exact).norm() / exact.norm()
    assert float(error) <= TOLERANCE[found.dtype]


def random(*shape: int, dtype: torch.dtype, scale: float = 3.0) -> Tensor:
    generator = torch.Generator(DEVICE).manual_seed(sum(shape))
    return (scale * torch.randn(shape, generator=generator, device=DEVICE)).to(dtype)


@pytest.mark.skipif(INTERPRETED, reason="this is the separate process")
def test_the_triton_kernels_in_the_interpreter() -> None:
    own = "test_own_attention.py::test_a_kernel_of_tritons_is_right_in_its_interpreter"
    tests = [__file__, str(Path(__file__).with_name(own))]
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-v", "-x", *tests]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "passed" in ended.stdout


@interpreted
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_of_odd_sizes(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = random(*shape, dtype=dtype)
    agree(softmax(x), softmax_exactly(x))


def gradients(x: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of x by the kernels, and in float64 from the result that they found."""
    from workflow_src.ops.softmax import differentiable_softmax

    leaf = x.clone().requires_grad_()
    y = differentiable_softmax(leaf)
    (found,) = torch.autograd.grad(y, leaf, g)
    wide, wide_g = y.detach().double(), g.double()
    return found, wide * (wide_g - (wide * wide_g).sum(dim=-1, keepdim=True))


@interpreted
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_of_softmax(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x, g = random(*shape, dtype=dtype), random(*shape, dtype=dtype, scale=1.0)
    found, exact = gradients(x, g)
    scale = g.double().abs().max()
    assert float((found.double() - exact).abs().max() / scale) <= TOLERANCE[dtype]
    if shape[-1] > 1:
        agree(found, exact)


@interpreted
def test_the_gradient_agrees_with_torch_for_masked_rows_and_strided_gradients() -> None:
    x = random(2, 3, 6, 6, dtype=torch.float32)
    future = torch.ones(6, 6, dtype=torch.bool, device=DEVICE).triu(diagonal=1)
    x = x.masked_fill(future, -torch.inf)
    g = random(6, 6, 3, 2, dtype=torch.float32).permute(3, 2, 0, 1)
    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(torch.softmax(leaf, dim=-1), leaf, g)
    found, _ = gradients(x, g)
    torch.testing.assert_close(found, expected)
    assert not found.masked_select(future).any()


@interpreted
def test_attention_with_the_triton_softmax_agrees_with_the_one_written_out() -> None:
    from workflow_src.model.attention import attention_core

    qkv = random(3, 2, 2, 9, 4, dtype=torch.float32)
    found = []
    for name in ("naive", "triton_softmax"):
        leaf = qkv.clone().requires_grad_()
        out = attention_core(name, 16)(*leaf.unbind(0))
        found.append((out, *torch.autograd.grad(out.square().sum(), leaf)))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=1e-4)


@interpreted
@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_may_be_noncontiguous(dtype: torch.dtype) -> None:
    turned, strided = random(6, 5, 4, dtype=dtype).transpose(0, 2), random(9, 8, dtype=dtype)[::2]
    for x in (turned, strided, strided[:, 1::3]):
        before = x.clone()
        agree(softmax(x), softmax_exactly(x))
        assert torch.equal(x, before)


@interpreted
@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0)])
def test_empty_inputs_stay_empty(shape: tuple[int, ...]) -> None:
    assert softmax(torch.empty(shape, device=DEVICE)).shape == shape


@interpreted
def test_a_row_that_is_too_long_is_told() -> None:
    with pytest.raises(ValueError, match="at most 32768, not 32769"):
        softmax(torch.empty(1, 32769, device=DEVICE))


@interpreted
def test_large_values_overflow_nowhere() -> None:
    x = torch.tensor([[-3e38, -1e20, -30.0, 0.0, 30.0, 1e20, 3e38]], device=DEVICE)
    agree(softmax(x), softmax_exactly(x))
    apart = random(2, 20000, dtype=torch.float32, scale=1e4)
    agree(softmax(apart), softmax_exactly(apart))


@interpreted
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [5, 20000])
def test_masked_rows_and_infinities_agree_with_torch(columns: int, dtype: torch.dtype) -> None:
    """Masks are often the dtype's lowest number: nothing may overflow to NaN."""
    lowest = torch.finfo(dtype).min
    for rest, one in ((lowest, 0.0), (-torch.inf, 1.0), (0.0, torch.nan), (0.0, torch.inf)):
        x = torch.full((3, columns), rest, dtype=dtype, device=DEVICE)
        x[1, columns - 2], x[2, 0] = one, one
        exact = torch.softmax(x, dim=-1)
        torch.testing.assert_close(softmax(x), exact, equal_nan=True)


@pytest.mark.skipif(INTERPRETED, reason="the interpreter compiles nothing")
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_the_triton_kernels_compile_without_a_gpu(dtype: str) -> None:
    """The interpreter accepts what the compiler rejects, such as a variable that changes type."""
    from workflow_src.ops import softmax

    # Of the longest block, which only a GPU runs, compiling takes a hundred times as long.
    sizes, numbers = {"ROWS": 4, "BLOCK": 256}, ("rows", "columns")
    compiled(softmax._softmax_rows, dtype, numbers, ("x", "y"), **sizes)
    compiled(softmax._softmax_gradients, dtype, numbers, ("y", "g", "dx"), **sizes)


def compiled(
    kernel: Any,
    dtype: str,
    numbers: tuple[str, ...],
    pointers: tuple[str, ...],
    **constants: int,
) -> None:
    """Compile a kernel for an H100."""
    signature = dict.fromkeys(pointers, f"*{dtype}") | dict.fromkeys(numbers, "i32")
    signature |= dict.fromkeys(constants, "constexpr")
    source = triton.compiler.ASTSource(kernel, signature=signature, constexprs=constants)
    triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", 90, 32))


class TestOnGpu:
    pytestmark = on_gpu

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_all_agree_with_float64(self, dtype: torch.dtype) -> None:
        for shape in SHAPES:
            x = random(*shape, dtype=dtype)
            agree(softmax(x), softmax_exactly(x))

    def test_more_than_2_to_the_31_elements(self) -> None:
        x = torch.zeros(2**31 + 2**15, dtype=torch.bfloat16, device="cuda")
        x[-(2**15) :] = random(2**15, dtype=torch.bfloat16)
        rows = x.view(-1, 2**15)
        agree(softmax(rows)[-1:], softmax_exactly(rows[-1:]))
