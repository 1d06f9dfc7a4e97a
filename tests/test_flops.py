"""The closed-form formulas compared with PyTorch's counter and with hand calculations."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from workflow_src.common.case import Case
from workflow_src.model.flops import (
    MATMUL_COMPONENTS,
    forward_work,
    matmul_flops,
    parameter_count,
    phase_flops,
)
from workflow_src.model.transformer import build_model, cross_entropy


def case_of(
    attention: str = "naive", precision: str = "fp32", device: str = "cpu", **shape: int
) -> Case:
    """A case small enough to calculate by hand."""
    sizes = {"d_model": 4, "d_ff": 6, "layers": 2, "heads": 2, "vocabulary": 10}
    return Case(
        case="hand",
        size="hand",
        precision=precision,
        attention=attention,
        optimizer="adamw",
        device=device,
        **(sizes | {"batch": 1, "context": 3} | shape),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    # At least two tokens: for one, einsum multiplies elementwise, which PyTorch doesn't count.
    heads, half = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    return case_of(
        attention=draw(st.sampled_from(["naive", "fused_softmax"])),
        d_model=heads * 2 * half,
        heads=heads,
        d_ff=draw(st.integers(1, 20)),
        layers=draw(st.integers(1, 3)),
        vocabulary=draw(st.integers(2, 20)),
        batch=draw(st.integers(1, 4)),
        context=draw(st.integers(2, 12)),
    )


def column(case: Case, name: str) -> dict[str, int]:
    return {work.component: getattr(work, name) for work in forward_work(case)}


@settings(deadline=None, max_examples=20)
@given(cases())
def test_matmul_flops_are_what_pytorch_counts_and_parameters_the_models(case: Case) -> None:
    model = build_model(case).to("meta")
    tokens = torch.zeros(case.batch, case.context, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as forward:
        loss = cross_entropy(model(tokens), tokens)
    with FlopCounterMode(display=False) as backward:
        torch.autograd.backward(loss)
    flops = column(case, "flops")
    assert sum(flops[name] for name in MATMUL_COMPONENTS) == forward.get_total_flops()
    assert 2 * matmul_flops(case) == backward.get_total_flops()
    assert parameter_count(case) == sum(p.numel() for p in model.parameters())


def test_flops_agree_with_a_hand_calculation() -> None:
    assert column(case_of(), "flops") == {
        "qkv": 2 * (2 * 3 * 4 * 12),
        "scores": 2 * (2 * 2 * 9 * 2),
        "softmax": 2 * (5 * 2 * 9),
        "values": 2 * (2 * 2 * 9 * 2),
        "output": 2 * (2 * 3 * 4 * 4),
        "feed_forward": 2 * (3 * 2 * 3 * 4 * 6),
        "head": 2 * 3 * 4 * 10,
    }
    products = 576 + 144 + 144 + 192 + 864 + 240
    assert matmul_flops(case_of()) == products == phase_flops(case_of(), "forward")
    assert phase_flops(case_of(), "forward_backward") == 3 * products
    assert phase_flops(case_of(), "train_step") == 3 * products
    assert parameter_count(case_of()) == 2 * (4 * 16 + 3 * 24 + 8) + 2 * 40 + 4


def bytes_of(attention: str, size: int, softmax: int) -> dict[str, int]:
    """Bytes by hand, of elements of a size; softmax moves so many per element of its matrix.

    Per block: x is 3 x 4 = 12 elements, the T x T matrix 2 heads x 9 = 18, its mask 9 bytes.
    """
    written_out = {
        "scores": 2 * (size * (12 + 12 + 18 + 2 * 18 + 2 * 18) + 9),
        "values": 2 * size * (18 + 12 + 12),
    }
    fused = {"scores": 2 * size * 24, "values": 2 * size * 24}
    return {
        "qkv": 2 * size * (12 + 48 + 36),
        "softmax": 2 * softmax * 18,
        "output": 2 * size * (12 + 16 + 12),
        "feed_forward": 2 * size * (2 * (12 + 24 + 18) + 2 * 18 + 3 * 18 + (18 + 24 + 12)),
        "head": size * (12 + 40 + 30),
    } | (fused if attention == "sdpa" else written_out)


@pytest.mark.parametrize(
    ("attention", "precision", "device", "softmax"),
    [
        ("naive", "fp32", "cpu", 8 * 4),
        ("naive", "bf16", "cpu", 8 * 2),
        # max 2, subtract 4, cast 6, exp 8, sum 4, divide 8: as many bytes as in fp32.
        ("naive", "bf16", "cuda", 8 * 4),
        ("naive", "fp16", "cuda", 8 * 4),
        ("fused_softmax", "fp32", "cpu", 2 * 4),
        ("fused_softmax", "fp32", "cuda", 2 * 4),
        ("fused_softmax", "bf16", "cpu", 2 * 2),
        # Torch's runs in float32 under a GPU's autocast: from bf16 by a cast.
        ("fused_softmax", "bf16", "cuda", 2 + 4 + 2 * 4),
        ("fused_softmax", "fp16", "cuda", 2 + 4),
        ("triton_softmax", "bf16", "cuda", 2 * 2),
        ("sdpa", "fp32", "cpu", 0),
        ("sdpa", "bf16", "cuda", 0),
    ],
)
def test_bytes_agree_with_a_hand_calculation(
    attention: str, precision: str, device: str, softmax: int
) -> None:
    found = column(case_of(attention, precision, device), "bytes")
    assert found == bytes_of(attention, 4 if precision == "fp32" else 2, softmax)
