"""Work and memory of attention by formula, by hand; what a table says of rows."""

from pathlib import Path

import pytest

from tests.studies.tables import filled, joined
from workflow_src.studies.attention.analyze import derive, products, worked
from workflow_src.studies.attention.work import (
    Shape,
    exponentials,
    flops,
    kept_bytes,
    matrix_bytes,
    peak_bytes,
)

SHAPE = Shape(batch=1, heads=1, context=4, head_size=2, size=2)
"""q has 8 elements, or 16 bytes; a matrix of scores 16, or 32 bytes; 8 scores are needed."""


def test_work_is_that_of_half_of_the_scores() -> None:
    assert [flops(SHAPE, p) for p in ("forward", "backward", "forward_backward")] == [64, 160, 224]
    assert [exponentials(SHAPE, p) for p in ("forward", "forward_backward")] == [8, 16]
    # 14 times 32 bytes of scores, and the mask.
    assert matrix_bytes("naive", "forward", SHAPE) == 464
    assert matrix_bytes("naive", "backward", SHAPE) is matrix_bytes("flex", "forward", SHAPE)


def test_what_is_written_out_keeps_matrices_and_what_goes_by_tiles_none() -> None:
    # q, k, v; three matrices; maximum and sum of 4 rows; the mask.
    assert kept_bytes("naive", SHAPE) == 3 * 16 + 3 * 32 + 2 * 8 + 16
    # q, k, v and the output, and a float32 of each of 4 rows.
    assert kept_bytes("sdpa_flash", SHAPE) == kept_bytes("mine.py:f", SHAPE) == 4 * 16 + 16
    assert kept_bytes("sdpa_math", SHAPE) is peak_bytes("sdpa_math", "forward", SHAPE) is None


@pytest.mark.parametrize(
    ("implementation", "phase", "size", "bytes_"),
    [
        ("naive", "forward", 2, 176 + 2 * 16),
        ("naive", "forward_backward", 2, 6 * 16 + 7 * 32 + 16 + 16),
        ("sdpa_flash", "forward", 2, 80 + 16),
        # 8 tensors, two float32 of each row, and the sum for the gradient of q, 8 float32.
        ("sdpa_flash", "forward_backward", 2, 8 * 16 + 32 + 32),
        ("sdpa_flash", "forward_backward", 4, 8 * 32 + 32),
        ("flex", "forward", 2, 80 + 16 + 16),
        ("flex", "forward_backward", 2, 8 * 16 + 32 + 16),
        ("sdpa_flash", "backward", 2, None),
    ],
)
def test_peaks(implementation: str, phase: str, size: int, bytes_: int | None) -> None:
    assert peak_bytes(implementation, phase, Shape(1, 1, 4, 2, size)) == bytes_


def test_the_formula_is_that_of_a_published_measurement() -> None:
    # examples/h200, study attention: head size 64 at context 16,384, batch 8, in MiB.
    shape = Shape(8, 1, 16384, 64, 2)
    assert peak_bytes("naive", "forward_backward", shape) == 29024.5 * 2**20
    assert kept_bytes("naive", shape) == 12592.5 * 2**20


def test_an_error_tells_in_which_precision_products_were_computed() -> None:
    assert [products("fp32", error) for error in (2e-7, 3e-4, None)] == ["fp32", "tf32", ""]


def test_the_rounding_of_a_16_bit_output_hides_the_precision_of_products() -> None:
    """As of SDPA math on the H200s, which multiplies in float32: 1.6e-3 is rounding alone."""
    assert products("bf16", 1.6e-3) == products("bf16", 4.8e-3) == products("fp16", 1e-3) == ""


def test_a_row_has_predictions_whether_it_was_measured_or_not(tmp_path: Path) -> None:
    about = {"implementation": "naive", "precision": "fp32", "batch": 1, "heads": 1, "head_size": 2}
    rows = [
        about | {"sweep": "check", "status": "ok", "error_out": 1e-3},
        about | {"sweep": "time", "context": 4, "phase": "forward", "status": "oom"},
    ]
    check, timed = filled(joined(tmp_path, derive, rows))
    assert check["products_in"] == timed["products_in"] == "tf32"
    assert "flops" not in check or check["flops"] is None
    # 3 tensors and 3 matrices of 32 and 64 bytes, 32 of rows, 16 of the mask; 2 tensors more.
    assert timed["flops"] == 64 and timed["predicted_peak_mib"] == 400 / 2**20


def test_a_cpus_views_are_no_work() -> None:
    def activity(family: str, calls: int, busy_ns: int) -> dict[str, object]:
        return {"family": family, "calls": calls, "busy_ns": busy_ns}

    profiled = [activity("gemm", 2, 3_000_000), activity("bookkeeping", 5, 7)]
    assert worked({"activities": profiled}) == {"kernels": 2, "busy_ms": 3.0}
    assert worked({"activities": profiled[1:]}) == worked({}) == {}
