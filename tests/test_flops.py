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

COMPONENTS = ["qkv", "scores", "softmax", "values", "output", "feed_forward", "head"]


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
def test_matmul_flops_are_what_pytorch_counts(case: Case) -> None:
    model = build_model(case).to("meta")
    tokens = torch.zeros(case.batch, case.context, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as forward:
        loss = cross_entropy(model(tokens), tokens)
    with FlopCounterMode(display=False) as backward:
        torch.autograd.backward(loss)
    flops = column(case, "flops")
    assert sum(flops[name] for name in MATMUL_COMPONENTS) == forward.get_total_flops()
    assert 2 * matmul_flops(case) == backward.get_total_flops()


@settings(deadline=None, max_examples=20)
@given(cases())
def test_parameter_count_is_the_models(case: Case) -> None:
    assert parameter_count(case) == sum(p.numel() for p in build_model(case).parameters())


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
    assert (
        sum(each.flops for each in forward_work(case_of()))
        == 576 + 144 + 180 + 144 + 192 + 864 + 240
    )
    assert phase_flops(case_of(), "train_step") == 3 * (576 + 144 + 144 + 192 + 864 + 240)
    assert parameter_count(case_of()) == 2 * (4 * 16 + 3 * 24 + 8) + 2 * 40 + 4


def test_bytes_agree_with_a_hand_calculation() -> None:
    # Per block: x is 3 x 4 = 12 elements, the T x T matrix 2 heads x 9 = 18.
    assert column(case_of(), "bytes") == {
        "qkv": 2 * 4 * (12 + 48 + 36),
        "scores": 2 * (4 * (12 + 12 + 18 + 2 * 18 + 2 * 18) + 9),
        "softmax": 2 * 4 * 8 * 18,
        "values": 2 * 4 * (18 + 12 + 12),
        "output": 2 * 4 * (12 + 16 + 12),
        "feed_forward": 2 * 4 * (2 * (12 + 24 + 18) + 2 * 18 + 3 * 18 + (18 + 24 + 12)),
        "head": 4 * (12 + 40 + 30),
    }


def test_a_fused_softmax_makes_two_passes_and_changes_nothing_else() -> None:
    naive, fused = column(case_of(), "bytes"), column(case_of("fused_softmax"), "bytes")
    assert fused == naive | {"softmax": 2 * 4 * 2 * 18}


def test_sdpa_reads_q_k_v_and_writes_its_output() -> None:
    naive, sdpa = column(case_of(), "bytes"), column(case_of("sdpa"), "bytes")
    assert sdpa == naive | {"scores": 2 * 4 * 24, "softmax": 0, "values": 2 * 4 * 24}


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_autocast_on_a_gpu_runs_part_of_softmax_in_float32(precision: str) -> None:
    # max 2, subtract 4, cast 6, exp 8, sum 4, divide 8: as many bytes as in fp32.
    half = column(case_of(precision=precision, device="cuda"), "bytes")
    assert half["softmax"] == 2 * 32 * 18 == column(case_of(device="cuda"), "bytes")["softmax"]
    on_cpu = column(case_of(precision=precision), "bytes")
    assert half == on_cpu | {"softmax": 2 * 32 * 18}


@pytest.mark.parametrize(
    ("attention", "precision", "device", "each"),
    [
        ("fused_softmax", "fp32", "cuda", 8),
        ("fused_softmax", "bf16", "cuda", 2 + 4 + 8),
        ("fused_softmax", "fp16", "cuda", 2 + 4),
        ("fused_softmax", "bf16", "cpu", 4),
        ("triton_softmax", "bf16", "cuda", 4),
    ],
)
def test_torch_s_softmax_runs_in_float32_under_a_gpu_s_autocast(
    attention: str, precision: str, device: str, each: int
) -> None:
    """From bf16 by a cast, from fp16 in the kernel; the Triton kernel takes what there is."""
    found = column(case_of(attention, precision=precision, device=device), "bytes")
    assert found["softmax"] == 2 * each * 18


def test_half_the_element_size_halves_the_bytes_except_for_the_mask() -> None:
    full, half = column(case_of(), "bytes"), column(case_of(precision="bf16"), "bytes")
    mask = {"scores": 2 * 9}
    for name in COMPONENTS:
        assert 2 * (half[name] - mask.get(name, 0)) == full[name] - mask.get(name, 0)
