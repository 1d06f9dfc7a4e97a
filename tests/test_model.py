"""Each part of the model, then the whole model, against a plain PyTorch reference."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from workflow_src.common.case import ATTENTIONS, NEEDS_CUDA, Case
from workflow_src.model import ranges
from workflow_src.model.adamw import build_optimizer
from workflow_src.model.attention import (
    RotaryEmbedding,
    attention_core,
    written_out_softmax,
)
from workflow_src.model.transformer import (
    RMSNorm,
    TransformerLM,
    build_model,
    cross_entropy,
)

ON_CPU = [name for name in ATTENTIONS if name not in NEEDS_CUDA["attention"]]

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()


def small_case(**changes: object) -> Case:
    tiny = Case("tiny", "tiny", 32, 48, 2, 4, 61, 3, 16, "fp32", "naive", "adamw", "cpu")
    return Case.from_dict(tiny.as_dict() | changes)


def tokens_of(case: Case, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = (case.batch, case.context)
    return torch.randint(case.vocabulary, shape, generator=generator).to(case.device)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_rms_norm_computes_in_float32_and_casts_back() -> None:
    norm = RMSNorm(8)
    out = norm(torch.full((1, 8), 1000.0, dtype=torch.float16))  # the square exceeds float16
    assert out.dtype == torch.float16
    torch.testing.assert_close(out, torch.ones(1, 8, dtype=torch.float16))


def test_rotary_is_multiplication_by_a_complex_phase() -> None:
    context, d_head = 40, 16
    x = normal(2, 3, context, d_head)
    frequencies = 10000.0 ** (-torch.arange(0, d_head, 2).double() / d_head)
    angles = torch.outer(torch.arange(context).double(), frequencies)
    pairs = torch.view_as_complex(x.double().view(2, 3, context, d_head // 2, 2))
    expected = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))
    turned = RotaryEmbedding(context, d_head)(x)
    torch.testing.assert_close(turned, expected.flatten(-2).float())
    assert RotaryEmbedding(4, 8)(normal(4, 8).bfloat16()).dtype == torch.bfloat16


@settings(deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 9),
    st.sampled_from([0.0, 1.0, 30.0, 1e4, 1e30]),
    st.integers(0, 99),
)
def test_written_out_softmax_agrees_with_pytorch(
    rows: int, columns: int, scale: float, seed: int
) -> None:
    x = scale * normal(rows, columns, seed=seed)
    torch.testing.assert_close(written_out_softmax(x), torch.softmax(x, dim=-1))


@pytest.mark.parametrize("name", ON_CPU)
def test_attention_core_agrees_with_sdpa_below_the_full_context(name: str) -> None:
    q, k, v = normal(3, 2, 4, 11, 8).unbind(0)
    expected = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(attention_core(name, 16)(q, k, v), expected)


def reference_logits(model: TransformerLM, tokens: Tensor, heads: int) -> Tensor:
    """The published architecture, built from PyTorch's own functions on state_dict entries."""
    w = model.state_dict()
    x = functional.embedding(tokens, w["embedding.weight"])
    batch, length, d_model = x.shape
    rotary = RotaryEmbedding(length, d_model // heads)

    def norm(x: Tensor, name: str) -> Tensor:
        return functional.rms_norm(x, (d_model,), w[f"{name}.weight"], eps=1e-5)

    for layer in range(len(model.blocks)):
        at = f"blocks.{layer}"
        q, k, v = (
            part.view(batch, length, heads, -1).transpose(1, 2)
            for part in (norm(x, f"{at}.attention_norm") @ w[f"{at}.attention.qkv.weight"].T).chunk(
                3, dim=-1
            )
        )
        mixed = functional.scaled_dot_product_attention(rotary(q), rotary(k), v, is_causal=True)
        x = x + mixed.transpose(1, 2).flatten(-2) @ w[f"{at}.attention.output.weight"].T
        h = norm(x, f"{at}.feed_forward_norm")
        gate = functional.silu(h @ w[f"{at}.feed_forward.w1.weight"].T)
        up = h @ w[f"{at}.feed_forward.w3.weight"].T
        x = x + (gate * up) @ w[f"{at}.feed_forward.w2.weight"].T
    logits: Tensor = norm(x, "norm") @ w["head.weight"].T
    return logits


@pytest.mark.parametrize("attention", ON_CPU)
def test_model_agrees_with_its_description(attention: str) -> None:
    case = small_case(attention=attention)
    model, tokens = build_model(case), tokens_of(case)
    # Gains other than 1, and blocks whose outputs matter beside the residual stream.
    for parameter in model.parameters():
        parameter.data = parameter.data * 5 + 0.1 * normal(*parameter.shape)
    expected = reference_logits(model, tokens, case.heads)
    torch.testing.assert_close(model(tokens), expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("attention", ON_CPU)
def test_autocast_stays_near_float32(attention: str, dtype: torch.dtype, device: str) -> None:
    case = small_case(attention=attention, device=device)
    model, tokens = build_model(case), tokens_of(case)
    full = model(tokens)
    with torch.autocast(device, dtype):
        logits = model(tokens)
        torch.autograd.backward(cross_entropy(logits, tokens))
    assert (logits.shape, logits.dtype, logits.device.type) == ((3, 16, 61), dtype, device)
    torch.testing.assert_close(logits.float(), full, atol=0.02, rtol=0.05)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_buffers_are_made_once_and_shared_by_all_blocks() -> None:
    model = build_model(small_case(layers=3))
    assert sorted(buffer.shape for buffer in model.buffers()) == [(16, 4), (16, 4), (16, 16)]
    assert {name.rsplit(".")[-1] for name, _ in model.named_buffers()} == {"cos", "sin", "future"}
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


def test_weights_follow_the_seed() -> None:
    first, again, other = (build_model(small_case(seed=seed)).head.weight for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.abs().max() <= 0.06
    assert 0.015 < first.std() < 0.02


@pytest.mark.parametrize("optimizer", ["adamw", "foreach"])
@pytest.mark.parametrize("attention", ON_CPU)
def test_a_step_reads_no_value_off_the_device(attention: str, optimizer: str) -> None:
    # A tensor on "meta" has no values, so code that reads one raises.
    case = small_case(attention=attention)
    model = build_model(case).to("meta")
    tokens = torch.zeros(case.batch, case.context, dtype=torch.long, device="meta")
    stepper = build_optimizer(optimizer, model.parameters())
    for _ in range(2):
        stepper.zero_grad()
        torch.autograd.backward(cross_entropy(model(tokens), tokens))
        stepper.step()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_step_does_not_synchronize_cuda(attention: str) -> None:
    case = small_case(attention=attention, device="cuda")
    model, tokens = build_model(case), tokens_of(case)
    stepper = build_optimizer("adamw", model.parameters())
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(2):
            torch.autograd.backward(cross_entropy(model(tokens), tokens))
            stepper.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The path of each range, in opening order."""
    stack: list[str] = []
    opened: list[str] = []

    @contextmanager
    def record(name: str) -> Iterator[None]:
        stack.append(name)
        opened.append("/".join(stack))
        yield
        stack.pop()

    monkeypatch.setattr(ranges, "_emit", record)
    return opened


@pytest.mark.parametrize("attention", ON_CPU)
def test_ranges_open_in_the_order_of_the_computation(attention: str, paths: list[str]) -> None:
    case = small_case(attention=attention)
    build_model(case)(tokens_of(case))
    core = ["sdpa"] if attention == "sdpa" else ["scores", "softmax", "values"]
    inside = ["qkv", "rotary", *core, "output"]
    block = ["block", "block/norm", "block/attention"]
    block += [f"block/attention/{name}" for name in inside] + ["block/norm", "block/feed_forward"]
    assert paths == ["embedding", *block, *block, "norm", "head"]


def test_cross_entropy_is_the_mean_negative_log_likelihood() -> None:
    logits, targets = normal(2, 3, 5), torch.tensor([[0, 4, 2], [1, 1, 3]])
    chosen = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1))
    torch.testing.assert_close(cross_entropy(logits, targets), -chosen.mean())
