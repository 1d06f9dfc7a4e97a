"""The accounting study: formulas against autograd and by hand, verdicts, a quick measurement."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.workflow import ROOT
from workflow_src.common.case import Case
from workflow_src.common.devices import cuda_devices
from workflow_src.measure.workload import Workload
from workflow_src.model.flops import parameter_count
from workflow_src.model.loss import cross_entropy
from workflow_src.model.memory_formulas import (
    activation_bytes,
    matmul_flops,
    matmul_weight_count,
    model_row,
    peak_bytes,
    phase_flops,
    rule_flops,
)
from workflow_src.model.transformer import build_model
from workflow_src.plan.config import load
from workflow_src.studies.accounting import analyze as accounting
from workflow_src.studies.accounting import measure as accounting_measure
from workflow_src.studies.section import section

TEMPLATES = ROOT / "report_templates"
HAND = Case("hand", "hand", 4, 6, 2, 2, 10, 2, 3, "fp32", "naive", "adamw", "cpu")
PARAMETERS = 2 * (4 * 16 + 3 * 24 + 8) + 2 * 40 + 4


@st.composite
def cases(draw: st.DrawFn) -> Case:
    # From two of each on: a view of something with one element needs no copy.
    heads, half = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    return replace(
        HAND,
        d_model=heads * 2 * half,
        heads=heads,
        d_ff=draw(st.integers(1, 12)),
        layers=draw(st.integers(1, 3)),
        vocabulary=draw(st.integers(2, 20)),
        batch=draw(st.integers(1, 3)),
        context=draw(st.integers(2, 9)),
    )


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


class TypesOf(TorchDispatchMode):
    """The types of what each operator returns, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, torch.dtype] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        first = out[0] if isinstance(out, (tuple, list)) else out
        if isinstance(first, torch.Tensor):
            self.found[func.overloadpacket.__name__] = first.dtype
        return out


def test_the_loss_keeps_log_probabilities_in_two_types_under_autocast() -> None:
    """The dispatch of CUDA's autocast, on tensors that hold nothing and need no GPU."""
    enabled, dtype = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    try:
        with FakeTensorMode(), torch.no_grad():
            logits = torch.empty(2, 3, 10, device="cuda", dtype=torch.bfloat16)
            targets = torch.empty(2, 3, device="cuda", dtype=torch.int64)
            with TypesOf() as types:
                cross_entropy(logits, targets)
    finally:
        torch.set_autocast_enabled("cuda", enabled)
        torch.set_autocast_dtype("cuda", dtype)
    assert types.found["_log_softmax"] == torch.bfloat16
    assert types.found["_to_copy"] == types.found["nll_loss_forward"] == torch.float32


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


def test_counts_by_hand() -> None:
    matmul = 2 * (2 * 6 * 4 * (12 + 4) + 2 * (2 * 36 * 2) + 3 * 2 * 6 * 4 * 6) + 2 * 6 * 4 * 10
    assert matmul_flops(HAND) == matmul == phase_flops(HAND, "forward")
    assert phase_flops(HAND, "train_step") == phase_flops(HAND, "forward_backward") == 3 * matmul
    assert matmul_weight_count(HAND) == 2 * (4 * 16 + 3 * 24) + 40
    assert rule_flops(HAND, 100, 6) == 6 * 100 * 6
    assert parameter_count(HAND) == PARAMETERS


def test_model_row_by_hand() -> None:
    row = model_row(HAND)
    assert row["parameters_without_embedding"] == PARAMETERS - 40
    assert row["forward_rule_flops"] == 2 * (PARAMETERS - 40) * 6
    assert row["step_rule_all_flops"] == 6 * PARAMETERS * 6
    state = row["weights_mib"] + row["gradients_mib"] + row["optimizer_mib"]
    assert state * 2**20 == 16 * PARAMETERS


def test_peaks_by_hand() -> None:
    loss = 8 * 60
    kept = activation_bytes(HAND)
    assert peak_bytes(HAND, "forward_backward") == 4 * PARAMETERS + kept + loss
    assert peak_bytes(HAND, "train_step") == 12 * PARAMETERS + kept + loss
    assert peak_bytes(HAND, "forward") == 4 * PARAMETERS + 28 * 24 + 12 * 36
    head = replace(HAND, vocabulary=1000)
    assert peak_bytes(head, "forward") == 4 * parameter_count(head) + 4 * (24 + 6000)


def test_many_parameters_and_few_tokens_peak_at_the_end() -> None:
    case = replace(HAND, d_model=64, d_ff=256, batch=1, context=2)
    count = parameter_count(case)
    assert peak_bytes(case, "forward_backward") == 8 * count
    assert peak_bytes(case, "train_step") == 16 * count + 4 * 64 * 256


def test_points_take_the_sizes_from_the_configuration() -> None:
    config = load(ROOT / "config.yaml")
    (small,) = accounting.points("cpu", "small")
    full = accounting.points("cuda", "full")
    assert small["sizes"] == config["sizes"] and small["measured"] == ["tiny"]
    assert [point["precision"] for point in full] == ["fp32", "bf16"]
    assert all(point["context"] == 512 for point in full)
    assert full[0]["measured"] == ["small", "medium", "large", "xl", "2.7B"]


@pytest.mark.parametrize(("intensity", "tflops"), [(1.0, 0.5), (20.0, 10.0), (100.0, 10.0)])
def test_roof(intensity: float, tflops: float) -> None:
    assert accounting.roof(intensity, (10.0, 500.0)) == tflops


ABOUT = {"size": "small", "context": 512, "batch": 4, "precision": "fp32", "gpu": "H200"}
FINE = {"status": "ok", "reason": ""}
MODEL = {"measurement": "model"} | ABOUT | FINE | model_row(HAND)


def phase(name: str = "train_step", **other: Any) -> dict[str, Any]:
    measured = {"median_ms": 1.0, "p20_ms": 1.0, "p80_ms": 1.0, "mfu": 0.5, "hfu": 0.5}
    memory = {"predicted_peak_mib": 90.0, "peak_mib": 100.0}
    return {"measurement": "phase", "phase": name} | ABOUT | FINE | measured | memory | other


def component(name: str, intensity: float, rate: float) -> dict[str, Any]:
    numbers = {"flops_per_byte": intensity, "tflop_per_s": rate, "busy_ms": 1.0}
    return {"measurement": "component", "component": name} | ABOUT | FINE | numbers


CEILINGS = [
    {"measurement": "ceiling", "ceiling": "matmul 8", "tflop_per_s": 10.0} | ABOUT | FINE,
    {"measurement": "ceiling", "ceiling": "matmul 9", "tflop_per_s": 9.0} | ABOUT | FINE,
    {"measurement": "ceiling", "ceiling": "copy", "gb_per_s": 1000.0} | ABOUT | FINE,
]


def text(*rows: dict[str, Any]) -> str:
    return section("accounting", pd.DataFrame([MODEL, *rows]), TEMPLATES)


def test_the_section_of_a_complete_measurement() -> None:
    said = text(phase(), component("qkv", 50, 8.0), component("softmax", 2, 1.0), *CEILINGS)
    assert "differs from the measured one by -10.0 %, most in training step of small" in said
    assert "reaches 50.0 % MFU in fp32" in said and "HFU is the same" in said
    assert "the ridge is at 10.0 FLOPs a byte (10.0 TFLOP/s, 1,000 GB/s)" in said
    assert "bound by bandwidth: softmax; above it: qkv." in said
    assert "Not measured" not in said and "on a CPU" not in said and "roof, as what" not in said


def test_the_section_where_things_are_otherwise() -> None:
    odd = phase(mfu=1.2, hfu=1.5, gpu="")
    spread = [component("scores", 5, 6.0), component("scores", 20, 1.0)]
    said = text(odd, *[r | {"gpu": ""} for r in (*spread, *CEILINGS)]).replace("H200", "")
    assert "HFU counts the FLOPs recomputed as well (above the measured peak" in said
    assert "on either side, by size: scores" in said
    assert "Faster than the roof, as what stays in a cache can be: scores of small" in said


def test_the_section_without_measurements() -> None:
    nothing = dict.fromkeys(("median_ms", "mfu", "hfu", "peak_mib"), math.nan)
    said = text(phase(status="oom", reason="full") | nothing)
    assert "No peak of memory was measured." in said
    assert "No training step was timed" in said
    assert "Not measured: training step of small fp32." in said and "OOM" in said
    assert "ridge" not in said


def test_a_figure_of_all_and_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.svg"
    accounting.draw(pd.DataFrame([component("qkv", 50, 8.0), *CEILINGS]), path)
    assert "qkv" in path.read_text() and "measured ceilings" in path.read_text()
    accounting.draw(pd.DataFrame([MODEL]), path)
    assert "no component" in path.read_text()


def test_utilisation_by_hand() -> None:
    row = {"measurement": "phase", "flops": 4e9, "median_ms": 2.0}
    found = accounting_measure.utilisation(row, [{"tflop_per_s": 8.0}, {"gb_per_s": 1.0}])
    assert found == {"recomputed_flops": 0, "mfu": 0.25, "hfu": 0.25}
    assert accounting_measure.utilisation(row, [{"gb_per_s": 1.0}]) == {}
    assert accounting_measure.utilisation(row | {"measurement": "model"}, [row]) == {}


def small_point() -> dict[str, Any]:
    (point,) = accounting.points("cpu", "small")
    numbers = {"d_model": 8, "d_ff": 12, "layers": 1, "heads": 2}
    return point | {
        "device": "cpu", "sizes": {"one": numbers}, "measured": ["one"], "vocabulary": 50,
        "context": 8, "steps": 1, "matmul_sides": [16], "copy_elements": 64, "ceiling_steps": 2,
    }  # fmt: skip


def test_a_quick_measurement_on_the_cpu() -> None:
    rows = accounting.measure(small_point())
    kinds = [row["measurement"] for row in rows]
    assert kinds == ["model", *["phase"] * 3, *["component"] * 7, "ceiling", "ceiling"]
    assert all(row["status"] == "ok" for row in rows)
    for row in rows[1:4]:
        assert row["mfu"] == row["hfu"] > 0 and row["recomputed_flops"] == 0
    for row in rows[4:11]:
        rate = row["flops"] / row["busy_ms"] / 1e9
        assert row["tflop_per_s"] == pytest.approx(rate)
        assert row["flops_per_byte"] == row["flops"] / row["bytes"]


def test_out_of_memory_leaves_the_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setattr(Workload, "train_step", full)
    rows = accounting.measure(small_point())
    assert [row["status"] for row in rows[1:4]] == ["ok", "ok", "oom"]
    assert "mfu" not in rows[3] and len(rows) == 13
    monkeypatch.setattr(accounting_measure, "Workload", full)
    rows = accounting.measure(small_point())
    assert [row["status"] for row in rows[1:4]] == ["oom", "skipped", "skipped"]
    assert len(rows) == 6
