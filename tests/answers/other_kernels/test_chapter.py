"""(c) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from pathlib import Path

import pytest

from tests.answers.chapters import facts
from tests.synthetic_tables import FORWARD, Kernel, Sample

CAST: Kernel = ("forward/block/attention/qkv", "x bfloat16_copy_kernel", "copy", 6, 1_000_000)


def scaled(products: float, square: float, rest: float) -> dict[str, list[Kernel]]:
    """A forward pass with products, work on context x context, and all else so many times."""

    def factor(path: str, family: str) -> float:
        if family == "gemm":
            return products
        return square if path.endswith(("scores", "softmax")) else rest

    rows = [(p, name, f, calls, int(ns * factor(p, f))) for p, name, f, calls, ns in FORWARD]
    return {"forward": rows}


@pytest.mark.parametrize(
    ("factors", "verdict", "times"),
    [
        ((0.25, 2, 2), "slower", ["0.25 ×", "2.2 ×", "2.0 ×"]),
        ((0.05, 0.5, 0.5), "faster", ["0.050 ×", "0.75 ×", "0.50 ×"]),
        ((0.9, 1, 1), "less", ["0.90 ×", "1.2 ×", "1.0 ×"]),
    ],
)
def test_precisions_are_compared_between_cases_alike_in_all_else(
    tmp_path: Path, factors: tuple[float, float, float], verdict: str, times: list[str]
) -> None:
    """4 ms of all else become so many, and 1 ms of casts joins them."""
    kernels = {"forward": [*scaled(*factors)["forward"], CAST]}
    found = facts("c", tmp_path, Sample(), Sample(precision="bf16", kernels=kernels))
    rows = found["summary"].set_index("")["bf16"]
    assert [str(cell) for cell in rows[rows.index.str.contains("that in|but casts")]] == times
    assert found["verdict"] == verdict


@pytest.mark.parametrize(
    ("kernels", "verdict"),
    [
        ([("forward", "gemm", "gemm", 1, 1000)], "nothing"),
        (scaled(0.1, 1, 1)["forward"], "most"),
        ([], "can't tell"),
    ],
)
def test_the_verdict_follows_from_what_is_there(
    tmp_path: Path, kernels: list[Kernel], verdict: str
) -> None:
    assert facts("c", tmp_path, Sample(kernels={"forward": kernels}))["verdict"] == verdict
