"""What is derived of a measured product, and of the kernels that ran."""

from pathlib import Path
from typing import Any

import pytest

from tests.studies import tables
from tests.studies.tables import filled
from workflow_src.studies.matmul import analyze as matmul
from workflow_src.studies.matmul.analyze import kernel_of

NVJET = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNN"


def joined(folder: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table's rows of raw rows, as the study's commands write and read them."""
    return filled(tables.joined(folder, matmul.derive, rows))


def activity(name: str, busy_ns: int, calls: int = 1) -> dict:
    about = {"range": "", "kind": "kernel", "operator": "aten::mm"}
    return about | {"name": name, "calls": calls, "busy_ns": busy_ns}


def test_the_kernel_of_a_product_is_the_multiplication():
    names = {"short_name": "reduce", "family": "reduction", "precision_ran": ""}
    gemm = {"family": "gemm", "precision_ran": "bf16"}
    found = kernel_of(
        [
            activity("r", 9) | names,
            activity("a", 5, calls=2) | gemm | {"short_name": "gemm_a"},
            activity(NVJET, 7) | gemm | {"short_name": "gemm_b"},
        ]
    )
    assert found == {
        "kernel": "gemm_b",
        "tile": "128x256",
        "ran": "bf16",
        "kernels": 4,
        "busy_ms": pytest.approx(21e-6),
    }


def test_the_kernel_where_nothing_multiplied_or_ran():
    names = {"short_name": "fill", "family": "fill", "precision_ran": ""}
    assert kernel_of([activity("f", 9) | names])["kernel"] == "fill"
    nothing = {"kernel": "", "tile": "", "ran": "", "kernels": 0, "busy_ms": 0.0}
    assert kernel_of([]) == nothing


def test_what_is_derived_of_raw_rows(tmp_path):
    about = {"sweep": "edge", "precision": "bf16", "multiprocessors": 132, "edge": 2048}
    ok, oom = {"status": "ok", "reason": ""}, {"status": "oom", "reason": "full"}
    times = {"samples_ns": [40_000, 30_000, 20_000], "calls_per_sample": 3}
    ran = {"activities": [activity("memset", 2_000), activity(NVJET, 20_000)]}
    skipped = {"sweep": "sizes", "precision": "fp8", "status": "skipped", "reason": "no"}
    rows = [about | {"n": 2080} | ok | times | ran, about | {"n": 2049} | oom, skipped]
    found, gone, left = joined(tmp_path, rows)
    assert (found["samples"], found["median_ms"], found["calls_per_sample"]) == (3, 0.03, 3)
    assert found["tflops"] == pytest.approx(2 * 2080**3 / 30e3 / 1e3)
    assert (found["divisor"], found["tiles"], found["waves"]) == (32, 153, 2)
    assert (found["kernel"], found["tile"], found["ran"]) == (NVJET, "128x256", "bf16")
    assert (found["kernels"], found["busy_ms"]) == (2, 0.022)
    assert (gone["divisor"], gone["waves"], gone["tflops"]) == (1, None, None)
    assert left["divisor"] is left["waves"] is left["kernel"] is None
