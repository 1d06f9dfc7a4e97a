"""Formulas of FLOPs, bytes and memory, against PyTorch's counter, autograd and by hand."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from tests.published import H100, H200
from workflow_src.common.case import PHASES, Case
from workflow_src.common.devices import cuda_devices
from workflow_src.common.units import GIB
from workflow_src.model.flops import (
    MATMUL_COMPONENTS,
    forward_work,
    matmul_flops,
    parameter_count,
)
from workflow_src.model.memory_formulas import (
    activation_bytes,
    matmul_weight_count,
    model_row,
    peak_bytes,
)
from workflow_src.model.transformer import build_model, cross_entropy

HAND = Case("hand", "hand", 4, 6, 2, 2, 10, 2, 3, "fp32", "naive", "adamw", "cpu")
"""A case small enough to calculate by hand; ONE has a batch of one."""
ONE = replace(HAND, batch=1)
PARAMETERS = 2 * (4 * 16 + 3 * 24 + 8) + 2 * 40 + 4


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Of two tokens and heads at least.

    For one token, einsum multiplies elementwise, which PyTorch doesn't count; a view of something
    with one element needs no copy.
    """
    heads, half = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    return replace(
        HAND,
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
@given(cases(), st.sampled_from(["naive", "fused_softmax"]))
def test_matmul_flops_are_what_pytorch_counts_and_parameters_the_models(
    case: Case, attention: str
) -> None:
    case = replace(case, attention=attention)
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
    found = column(replace(ONE, attention=attention, precision=precision, device=device), "bytes")
    assert found == bytes_of(attention, 4 if precision == "fp32" else 2, softmax)


def kept_bytes(case: Case) -> int:
    """Bytes of all storages that autograd saves for the backward pass, and of the logits."""
    model = build_model(case)
    tokens = torch.zeros(case.batch, case.context, dtype=torch.long, device=case.device)
    own = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *model.buffers(), tokens]}
    alive, storages = [], {}

    def note(tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        alive.append(storage)
        if storage.data_ptr() not in own:
            storages[storage.data_ptr()] = storage.nbytes()

    dtype = {"bf16": torch.bfloat16}.get(case.precision)
    with (
        torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor),
        torch.autocast(case.device, dtype=dtype, enabled=dtype is not None),
    ):
        logits = model(tokens)
        alive.append(cross_entropy(logits, tokens).untyped_storage())
    note(logits)
    return sum(storages.values())


@settings(deadline=None, max_examples=30)
@given(cases())
def test_activations_are_what_autograd_keeps(case: Case) -> None:
    assert activation_bytes(case) == kept_bytes(case)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("batch", [1, 4])
def test_activations_on_a_gpu(precision: str, batch: int) -> None:
    case = replace(
        HAND, d_model=256, d_ff=1024, heads=4, vocabulary=1000, batch=batch, context=128,
        precision=precision, device="cuda",
    )  # fmt: skip
    assert activation_bytes(case) == kept_bytes(case)


def test_activations_by_hand() -> None:
    # M = 6 tokens, s = 24, w = 36, q = 2 x 2 x 9 = 36, r = 12, v = 60.
    block = 10 * 24 + 2 * 6 + 3 * 36 + 2 * 12 + 4 * 36
    assert activation_bytes(HAND) == 4 * (2 * block + 3 * 24 + 6 + 2 * 60 + 1)
    half = 30 * 24 + 8 * 6 + 8 * 36 + 6 * 12 + 8 * 36
    casts = 2 * (PARAMETERS - 40 - 5 * 4)
    ends = 10 * 24 + 4 * 6 + 8 * 60 + 4 + casts
    assert activation_bytes(replace(HAND, precision="bf16")) == 2 * half + ends
    with pytest.raises(ValueError, match="not sdpa"):
        activation_bytes(replace(HAND, attention="sdpa"))


def test_model_row_by_hand() -> None:
    assert parameter_count(HAND) == PARAMETERS
    assert column(ONE, "flops")["softmax"] == 2 * (5 * 2 * 9)
    assert matmul_weight_count(HAND) == 2 * (4 * 16 + 3 * 24) + 40
    row = model_row(HAND)
    assert row["parameters_without_embedding"] == PARAMETERS - 40
    assert row["forward_rule_flops"] == 2 * (PARAMETERS - 40) * 6
    assert row["step_rule_all_flops"] == 6 * PARAMETERS * 6
    state = row["weights_mib"] + row["gradients_mib"] + row["optimizer_mib"]
    assert state * 2**20 == 16 * PARAMETERS


@pytest.mark.parametrize(
    ("run", "gib", "phases", "out"),
    [(H200, 140.4, 174, 0), (H100, 79.6, 120, 6), (H200 / "memory-32gib", 32.0, 60, 14)],
    ids=["H200", "H100", "32 GiB"],
)
def test_what_fits_by_formula_is_what_fitted(run: Path, gib: float, phases: int, out: int) -> None:
    """docs/course.md says so; OOM includes what was skipped after it."""
    timings = pd.read_csv(run / "tables" / "timings.csv").set_index(["case", "phase"])["status"]
    timings = timings[timings != "not_measured"]
    cases = pd.read_csv(run / "plan.csv").drop(columns="memory_limit_gib").to_dict("records")
    fits = {
        (case.case, phase): peak_bytes(case, phase) <= gib * GIB
        for case in map(Case.from_dict, cases)
        for phase in PHASES
        if (case.case, phase) in timings
    }
    assert fits == (timings == "ok").to_dict()
    assert len(fits) == phases and list(fits.values()).count(False) == out
