"""What is derived of a measured point: formulas and rates, by hand."""

from tests.studies.accounting.points import (
    CASE,
    FORWARD,
    PHASE,
    SIZE,
    activity,
    derived,
)
from workflow_src.model.flops import matmul_flops, phase_flops
from workflow_src.model.memory_formulas import model_row, peak_bytes


def test_the_formulas_make_a_row_per_size() -> None:
    (row,) = derived([])
    about = {"measurement": "model", "status": "ok", "reason": ""} | SIZE
    assert row == about | model_row(CASE)


def test_a_phase_by_hand() -> None:
    older = PHASE | {"measurement": "ceiling"}
    _, row = derived([PHASE, older])
    flops = 3 * matmul_flops(CASE)
    assert row["flops"] == flops == phase_flops(CASE, "train_step")
    assert row["peak_mib"] == 30.0 and row["memory_before_mib"] == 100.0
    assert row["predicted_peak_mib"] == peak_bytes(CASE, "train_step") / 2**20


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


def test_what_ran_out_of_memory_keeps_its_formulas() -> None:
    about = {"status": "oom", "reason": "CUDA out of memory"}
    phase_row = {"measurement": "phase", "phase": "forward", "memory_before_mib": 1.0}
    forward = {"measurement": "component"} | SIZE | about
    _, first, *parts = derived([phase_row | SIZE | about, forward])
    assert first["flops"] == matmul_flops(CASE) and first["predicted_peak_mib"] > 0
    assert "peak_mib" not in first
    assert [row["status"] for row in parts] == ["oom"] * 7
    assert all(row["flops"] > 0 and "busy_ms" not in row for row in parts)
