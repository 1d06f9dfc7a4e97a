"""The accounting study: formulas against autograd and by hand, verdicts, a quick measurement."""

import math
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from workflow_src.studies.accounting.section import SECTION

from tests.studies import ON_GPU
from tests.workflow import ROOT
from workflow_src.common.case import Case
from workflow_src.common.devices import cuda_devices
from workflow_src.measure import phases
from workflow_src.measure.workload import Workload
from workflow_src.model.flops import matmul_flops, parameter_count
from workflow_src.model.loss import cross_entropy
from workflow_src.model.memory_formulas import (
    activation_bytes,
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
from workflow_src.studies.accounting.points import points
from workflow_src.studies.accounting.work import component_work
from workflow_src.studies.join_points import prepared, table_rows
from workflow_src.traces.families import load_rules

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
    (small,) = points("cpu", "small", config)
    full = points("cuda", "full", config)
    assert small["sizes"] == config["sizes"] and small["measured"] == ["tiny"]
    assert [point["precision"] for point in full] == ["fp32", "bf16"]
    assert all(point["context"] == 512 for point in full)
    assert full[0]["measured"] == ["small", "medium", "large", "xl", "2.7B"]
    others = config | {"sizes": {"large": config["sizes"]["large"]}, "vocabulary": 7}
    (other, _) = points("cuda", "full", others)
    assert (list(other["sizes"]), other["measured"]) == (["large"], ["large"])
    assert other["vocabulary"] == 7


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
    return both(pd.DataFrame([MODEL, *rows]))


def both(table: pd.DataFrame) -> str:
    """The section and its long tables."""
    return SECTION.markdown(table, TEMPLATES) + SECTION.appendix(table, TEMPLATES)


def test_the_section_of_a_complete_measurement() -> None:
    said = text(phase(), component("qkv", 50, 8.0), component("softmax", 2, 1.0), *CEILINGS)
    assert "differs from the measured one by -10.0 %, most in training step of small" in said
    assert "an MFU of 50.0 % in fp32.\nMFU, model FLOPs utilization, is a step's" in said
    assert "HFU is the same" in said
    assert "the ridge, below which bandwidth is the lower of the two ceilings, is at 10.0" in said
    assert " is at 10.0 FLOPs per byte (10.0 TFLOP/s, 1,000 GB/s)" in said
    assert ". Below it: softmax. Above it: q/k/v projections." in said
    assert "Not measured" not in said and "on a CPU" not in said and "than the roof" not in said
    assert "what holds it back" not in said


def test_components_far_below_both_ceilings_are_not_called_bound_by_one() -> None:
    said = text(component("qkv", 50, 8.0), component("softmax", 2, 0.8), *CEILINGS)
    assert "softmax in fp32 (40.0 %) reaches less than 50 % of its lower one." in said


def test_the_section_where_things_are_otherwise() -> None:
    odd = phase(mfu=1.2, hfu=1.5, gpu="")
    spread = [component("scores", 5, 6.0), component("scores", 20, 1.0)]
    said = text(odd, *[r | {"gpu": ""} for r in (*spread, *CEILINGS)]).replace("H200", "")
    assert "HFU counts the FLOPs recomputed as well." in said and "(above the measured peak" in said
    assert "On either side, by size: scores, scaling and mask" in said
    assert (
        "than the roof, as is possible for data that stays in a cache: scores, scaling and mask"
        in said
    )


def test_the_section_without_measurements() -> None:
    nothing = dict.fromkeys(("median_ms", "mfu", "hfu", "peak_mib"), math.nan)
    said = text(phase(status="oom", reason="full") | nothing)
    assert "No peak memory was measured." in said
    assert "No training step was timed" in said
    assert "Not measured: training step of small fp32." in said and "OOM" in said
    assert "ridge" not in said


def test_a_pass_that_waits_for_launches_is_told_from_one_that_does_not() -> None:
    said = text(
        phase("forward", median_ms=10.0, busy_ms=4.0, size="small"),
        phase("forward", median_ms=10.0, busy_ms=8.0, size="xl"),
        *CEILINGS,
    )
    assert "In fp32 the device is busy for less than 80 % of the forward pass of small (40" in said
    assert "lowers the MFU" in said
    on_cpu = text(phase("forward", median_ms=10.0, busy_ms=4.0, gpu=""))
    assert "launching" not in on_cpu


def test_a_step_shorter_than_a_part_of_it_is_named() -> None:
    rows = [phase("forward_backward", median_ms=5.0), phase("train_step", median_ms=4.0)]
    said = text(*rows)
    assert "In small (fp32) forward + backward took 5.00 ms and the training step that" in said
    assert "contains it 4.00: a difference of the runs, not of the work." in said
    assert "that contains it" not in text(rows[0], rows[1] | {"median_ms": 6.0})


def test_times_are_said_to_be_the_studys_own() -> None:
    said = text(phase(samples=3))
    assert "Times are this study's own, medians of 3 steps in one process per precision." in said
    assert "from those in the answers above: compare them only within this study." in said


def test_the_components_shown_are_those_of_the_size_that_takes_longest() -> None:
    small, large = component("qkv", 50, 8.0), component("qkv", 50, 5.0)
    rows = [small, large | {"size": "large", "busy_ms": 9.0}, *CEILINGS]
    said = SECTION.markdown(pd.DataFrame([MODEL, *rows]), TEMPLATES)
    assert "The components of the forward pass of large:" in said
    assert "50.0 % |" in said and "80.0 % |" not in said


def test_a_figure_of_all_and_of_nothing() -> None:
    drawn = SECTION.svg(pd.DataFrame([component("qkv", 50, 8.0), *CEILINGS]))
    assert "q/k/v projections" in drawn and "measured ceilings" in drawn
    assert "no component" in SECTION.svg(pd.DataFrame([MODEL]))


def test_utilization_by_hand() -> None:
    found = accounting.utilization(int(4e9), 2.0, 8.0)
    assert found == {"recomputed_flops": 0, "mfu": 0.25, "hfu": 0.25}
    assert accounting.utilization(int(4e9), 2.0, 0.0) == {}


TINY = {
    "buffer_mib": 1, "shapes": [[16, 16, 16]], "exponentials": 64, "wake_s": 0.0,
    "budget_ms": 0.1, "sample_ms": 0.01, "pause_ms": 0.0,
}  # fmt: skip


def small_point() -> dict[str, Any]:
    (point,) = points("cpu", "small", load(ROOT / "config.yaml"))
    numbers = {"d_model": 8, "d_ff": 12, "layers": 1, "heads": 2}
    return point | {
        "device": "cpu", "sizes": {"one": numbers}, "measured": ["one"], "vocabulary": 50,
        "context": 8, "steps": 1, "ceilings": TINY,
    }  # fmt: skip


def derived(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rules = load_rules()
    return accounting.derive(small_point(), [prepared(row, rules) for row in rows])


SIZE = {"size": "one", "context": 8, "batch": 4, "precision": "fp32"}
CASE = Case("one-ctx8-fp32", "one", 8, 12, 1, 2, 50, 4, 8, "fp32", "naive", "adamw", "cpu")
RAN = {"samples_ns": [2_000_000] * 3, "memory_before_mib": 100.0, "peak_memory_mib": 130.0}
PHASE = {"measurement": "phase", "phase": "train_step"} | SIZE | FINE | RAN
FORWARD = {"measurement": "component", "steps": 2} | SIZE | FINE
CEILING = {"measurement": "ceiling", "precision": "fp32", "dtype": "float32"} | FINE
PRODUCTS = [
    CEILING | {"ceiling": "matmul 100", "side": 100, "samples_ns": [1_000_000]},
    CEILING | {"ceiling": "matmul 200", "side": 200, "samples_ns": [4_000_000]},
]
COPY = CEILING | {"ceiling": "copy", "elements": 1000, "samples_ns": [4_000]}


def activity(name: str, inside: str, busy_ns: int) -> dict[str, Any]:
    return {"range": inside, "kind": "operator", "name": name, "calls": 1, "busy_ns": busy_ns}


def test_the_formulas_make_a_row_per_size() -> None:
    (row,) = derived([])
    about = {"measurement": "model", "status": "ok", "reason": ""} | SIZE
    assert row == about | model_row(CASE)


def test_the_ceiling_is_the_fastest_sample_of_all_streams_and_products() -> None:
    made = {"kind": "compute", "name": "matmul", "flops": 2_000_000}
    product = CEILING | made | {"samples_ns": [4_000, 2_000, 3_000]}
    stream = CEILING | {"kind": "bandwidth", "name": "triad", "bytes": 12_000}
    rows = derived([product, stream | {"samples_ns": [3_000, 6_000]}])[1:]
    assert (rows[0]["tflop_per_s"], rows[1]["gb_per_s"]) == (1.0, 4.0)
    assert accounting.peak_rates(pd.DataFrame(rows)) == {"fp32": (1.0, 4.0)}


def test_rates_of_ceilings_by_hand() -> None:
    small, large, copy = derived([*PRODUCTS, COPY])[1:]
    assert (small["flops"], small["tflop_per_s"]) == (2 * 100**3, 0.002)
    assert (large["flops"], large["tflop_per_s"]) == (2 * 200**3, 0.004)
    assert (copy["bytes"], copy["gb_per_s"]) == (8000, 2.0)


def test_a_phase_by_hand() -> None:
    _, row, *_ = derived([PHASE, *PRODUCTS])
    flops = 3 * matmul_flops(CASE)
    assert row["flops"] == flops == phase_flops(CASE, "train_step")
    assert row["peak_mib"] == 30.0 and row["memory_before_mib"] == 100.0
    assert row["predicted_peak_mib"] == peak_bytes(CASE, "train_step") / 2**20
    # 0.004 TFLOP/s of the faster product are 8e6 FLOPs in the 2 ms of a step.
    assert row["mfu"] == row["hfu"] == pytest.approx(flops / 8e6)
    assert row["recomputed_flops"] == 0
    assert "mfu" not in derived([PHASE, COPY])[1]


def test_components_by_hand() -> None:
    kernels = [
        activity("aten::mm", "qkv", 3_000_000),
        activity("aten::t", "qkv", 1_000_000),
        activity("aten::exp", "softmax", 500_000),
        activity("aten::mul", "rotary", 7_000_000),
        activity("aten::add", "", 9_000_000),
    ]
    _, *rows = derived([FORWARD | {"activities": kernels}])
    found = {row["component"]: row for row in rows}
    assert [*found] == ["qkv", "scores", "softmax", "values", "output", "feed_forward", "head"]
    qkv = found["qkv"]
    # 32 tokens, an (8, 24) weight, and 4 bytes for each of 32 x 8 + 8 x 24 + 32 x 24 elements.
    assert (qkv["flops"], qkv["bytes"], qkv["busy_ms"]) == (2 * 32 * 8 * 24, 4 * 1216, 2.0)
    assert qkv["flops_per_byte"] == 12288 / 4864
    assert qkv["tflop_per_s"] == 12288 / 2e9
    assert found["softmax"]["busy_ms"] == 0.25
    assert all("busy_ms" not in found[name] for name in ("scores", "values", "output", "head"))


@cache
def launched_by(precision: str = "fp32") -> dict[str, Any]:
    """What launched the work of a forward pass of CASE with two layers, as a point keeps it."""
    case = replace(CASE, layers=2, precision=precision)
    found: dict[str, Any] = accounting_measure.measure_forward(case, 1)["launched"]
    return found


def work_of(launched: dict[str, Any] | None, precision: str = "fp32") -> dict[str, Any]:
    case = replace(CASE, layers=2, precision=precision)
    return {row["component"]: row for row in component_work(case, launched)}


def test_the_bytes_of_components_are_those_that_were_recorded() -> None:
    """What the formula leaves out: copies in another layout, and casts by autocast."""
    formula, found = work_of(None), work_of(launched_by())
    assert {row["work_from"] for row in found.values()} == {"shapes"}
    assert all("work_from" not in row for row in formula.values())
    for name, row in found.items():
        assert row["flops"] == formula[name]["flops"], name
    for name in ("qkv", "feed_forward", "head"):
        assert found[name]["bytes"] == formula[name]["bytes"]
    # Heads are merged by a copy of 32 x 8 elements in each of two layers.
    assert found["output"]["bytes"] - formula["output"]["bytes"] == 2 * 4 * 2 * 32 * 8
    formula, found = work_of(None, "bf16"), work_of(launched_by("bf16"), "bf16")
    # Weight and input are read in float32 and written in bf16.
    casts = 2 * (4 + 2) * (32 * 8 + 8 * 24)
    assert found["qkv"]["bytes"] - formula["qkv"]["bytes"] == casts


def test_a_component_whose_range_was_lost_in_a_layer_is_by_formula() -> None:
    whole = launched_by()
    (first, *_) = (n for n, each in enumerate(whole["operators"]) if each["range"].endswith("qkv"))
    place = next(at for at, (n, _) in enumerate(whole["sequence"]) if n == first)
    outside = whole["operators"][first] | {"range": "block/attention"}
    sequence = [list(each) for each in whole["sequence"]]
    sequence[place][0] = len(whole["operators"])
    lost = whole | {"operators": [*whole["operators"], outside], "sequence": sequence}
    found = work_of(lost)
    assert found["qkv"] == work_of(None)["qkv"] | {"work_from": "formula"}
    assert found["output"]["work_from"] == "shapes"


def test_bytes_that_a_record_does_not_tell_are_by_formula() -> None:
    whole = launched_by()
    odd = [
        each | {"operator": "aten::odd"} if each["operator"] == "aten::exp" else each
        for each in whole["operators"]
    ]
    assert work_of(whole | {"operators": odd})["softmax"]["work_from"] == "formula"
    failed = work_of({"status": "failed", "reason": "no CUPTI"})
    assert {row["work_from"] for row in failed.values()} == {"formula"}


def test_the_section_says_what_tells_the_bytes() -> None:
    old = text(component("qkv", 50, 8.0), *CEILINGS)
    assert "the fewest that their kernels as written out could move, so that" in old
    assert "bytes by" not in old
    new = component("qkv", 50, 8.0) | {"work_from": "shapes"}
    said = text(new, *CEILINGS)
    assert "by the shapes and types recorded in a pass of its own" in said
    assert "by formula" not in said and "bytes by" in said
    mixed = text(new, component("softmax", 2, 1.0) | {"work_from": "formula"}, *CEILINGS)
    assert "where the record doesn't tell them (softmax in fp32), they are by formula" in mixed


def test_the_figure_says_which_bytes_it_divides_by() -> None:
    rows = [component("qkv", 50, 8.0), component("softmax", 2, 1.0)]
    for sources, label in (
        ((None, None), "FLOPs per byte of minimum traffic"),
        (("shapes", "shapes"), "FLOPs per byte moved"),
        (("shapes", "formula"), "FLOPs per byte<"),
    ):
        pairs = zip(rows, sources, strict=True)
        mine = [row | ({"work_from": by} if by else {}) for row, by in pairs]
        assert label in SECTION.svg(pd.DataFrame([*mine, *CEILINGS]))


def test_what_ran_out_of_memory_keeps_its_formulas() -> None:
    about = {"status": "oom", "reason": "CUDA out of memory"}
    phase_row = {"measurement": "phase", "phase": "forward", "memory_before_mib": 1.0}
    forward = {"measurement": "component"} | SIZE | about
    product = {"measurement": "ceiling", "precision": "fp32", "side": 10, "dtype": "float32"}
    _, first, *parts, last = derived([phase_row | SIZE | about, forward, product | about])
    assert first["flops"] == matmul_flops(CASE) and first["predicted_peak_mib"] > 0
    assert {"peak_mib", "mfu"}.isdisjoint(first)
    assert [row["status"] for row in parts] == ["oom"] * 7
    assert all(row["flops"] > 0 and "busy_ms" not in row for row in parts)
    assert "tflop_per_s" not in last


DERIVED = {
    "median_ms", "mfu", "hfu", "flops", "bytes", "peak_mib", "predicted_peak_mib", "busy_ms",
    "tflop_per_s", "gb_per_s", "flops_per_byte", "component", "parameters", "recomputed_flops",
}  # fmt: skip


def test_a_quick_measurement_on_the_cpu() -> None:
    raw = accounting_measure.measure(small_point())
    kinds = [row["measurement"] for row in raw]
    assert kinds == ["phase"] * 3 + ["component"] + ["ceiling"] * 8
    assert all(DERIVED.isdisjoint(row) for row in raw[:4])
    assert [row["ceiling"] for row in raw[4:]] == [
        *(f"{name} 1 MiB" for name in ("read", "write", "copy", "scale", "triad")),
        *(f"matmul 16 x 16 x 16 {layout}" for layout in ("nn", "nt", "tn")),
    ]
    assert {key for kind in raw[3]["activities"] for key in kind} == {
        "range", "kind", "operator", "name", "calls", "busy_ns",
    }  # fmt: skip
    assert raw[3]["launched"]["status"] == "ok"
    rows = derived(raw)
    assert {row["work_from"] for row in rows[4:11]} == {"shapes"}
    kinds = [row["measurement"] for row in rows]
    assert kinds == ["model", *["phase"] * 3, *["component"] * 7, *["ceiling"] * 8]
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
    rows = derived(accounting_measure.measure(small_point()))
    assert [row["status"] for row in rows[1:4]] == ["ok", "ok", "oom"]
    assert "mfu" not in rows[3] and len(rows) == 19
    monkeypatch.setattr(phases, "Workload", full)
    rows = derived(accounting_measure.measure(small_point()))
    assert [row["status"] for row in rows[1:4]] == ["oom", "skipped", "skipped"]
    assert len(rows) == 12


def test_a_profile_that_runs_out_of_memory_leaves_the_phases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setattr(accounting_measure, "Workload", full)
    rows = derived(accounting_measure.measure(small_point()))
    assert [row["status"] for row in rows] == ["ok"] * 4 + ["oom"] * 7 + ["ok"] * 8


def test_the_table_of_a_measured_point_has_the_published_columns() -> None:
    point = small_point()
    result = ON_GPU | {"point": point, "rows": accounting_measure.measure(point)}
    rows = table_rows(result, accounting.derive, load_rules())
    found = {column for row in rows for column in row}
    published = ROOT / "examples/h200/tables/studies/accounting.csv"
    assert set(pd.read_csv(published, nrows=0).columns) <= found
    assert both(pd.DataFrame(rows)).count("| one ") == 1 + 1 + 3 + 7


def imported_by(module: str) -> set[str]:
    """The modules that a fresh Python has imported after `module`."""
    code = f"import sys, {module}; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.split())


def test_formulas_are_no_part_of_what_is_measured() -> None:
    formulas = {"workflow_src.model.memory_formulas", "workflow_src.model.flops"}
    measuring = imported_by("workflow_src.studies.accounting.measure")
    assert measuring.isdisjoint(formulas | {"pandas", "workflow_src.traces.families"})
    deriving = imported_by("workflow_src.studies.accounting.analyze")
    assert formulas <= deriving and "torch" not in deriving
