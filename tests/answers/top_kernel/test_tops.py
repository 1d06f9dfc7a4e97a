"""(b) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from pathlib import Path

import pandas as pd

from tests.answers.chapters import run_of
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.top_kernel.tops import tops


def top(folder: Path, sample: Sample, part: str = "forward") -> "pd.Series":
    found, _ = tops(run_of("b", write_tables(folder, sample)))
    return found.xs(part, level="part").iloc[0]


def test_on_a_cpu_what_calls_a_product_is_none(tmp_path: Path) -> None:
    """aten::linear multiplies by calling aten::mm: their calls aren't two products."""
    forward = [
        ("forward/head", "aten::linear", "gemm", 2, 500_000),
        ("forward/head", "aten::mm", "gemm", 2, 4_000_000),
        ("forward/block", "aten::mm", "gemm", 2, 2_000_000),
    ]
    products = [
        ("head", "forward", (128, 500, 64, 1), "aten::mm", 2, 4_000_000),
        ("mlp.down_proj", "forward", (128, 64, 256, 1), "aten::mm", 2, 2_000_000),
    ]
    sample = Sample(device="cpu", kernels={"forward": forward}, products={"forward": products})
    found = top(tmp_path, sample)
    assert (found["product"], found["product_ms"].value) == ("output head", 4.0)
