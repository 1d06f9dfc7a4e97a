"""(e) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.chapters import chapter, run_of
from tests.synthetic_tables import FORWARD, Kernel, Sample, write_tables
from workflow_src.answers.softmax.chapter import attention as by_case

SOFTMAX = "forward/block/attention/softmax"


def sample(kernels: Sequence[Kernel], **about: Any) -> Sample:
    """A case whose forward pass has the products and mask of FORWARD, and these kernels."""
    others = [kernel for kernel in FORWARD if kernel[0] != SOFTMAX]
    return Sample(kernels={"forward": [*others, *kernels]}, **about)


def taking(ms: float, **about: Any) -> Sample:
    """A case whose softmax takes so long; both products take 6 ms."""
    return sample([(SOFTMAX, "softmax_one", "softmax", 12, round(1e6 * ms))], **about)


GONE: dict[str, Any] = {"captured": False}
BF16: dict[str, Any] = {"precision": "bf16"}


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([taking(7), taking(60, **BF16)], "longer"),
        ([taking(5), taking(24, **BF16)], "by precision"),
        ([taking(5), taking(4, **BF16)], "shorter"),
        ([Sample(attention="sdpa")], "fused"),
        ([Sample(attention="eager", kernels={"forward": FORWARD[-2:]})], "no attention"),
        ([Sample(**GONE)], "can't tell"),
    ],
)
def test_the_verdict_follows_from_times(
    tmp_path: Path, samples: Sequence[Sample], verdict: str
) -> None:
    write_tables(tmp_path, *samples)
    made = chapter("e", tmp_path)
    assert made.verdict == verdict
    assert 1 < len(made.markdown["headline"].split()) <= 25


def operator(
    name: str, shapes: str, ms: float, calls: float = 2, path: str = "a"
) -> dict[str, Any]:
    about: dict[str, Any] = {"phase": "forward", "path": f"forward/{path}", "captured_path": ""}
    about |= {"family": "gemm"}
    about |= {"operator": name, "forward_operator": "", "shapes": shapes, "dtypes": "fp32"}
    about |= {"short_name": name, "calls_per_step": calls, "busy_ms_per_step": ms}
    return about | {"bytes_per_step": 1e6 * ms}


QK, AV = "6 x 8 x 4; 6 x 4 x 8", "6 x 8 x 8; 6 x 8 x 4"
OPERATORS = [
    operator("aten::bmm", QK, 4.0),
    operator("aten::softmax", "2 x 3 x 8 x 8", 0.5),
    operator("aten::_softmax", "2 x 3 x 8 x 8", 2.5),
    operator("aten::bmm", AV, 1.0),
    operator("aten::bmm", AV, 1.0) | {"short_name": "reduce"},
    operator("aten::add", "2 x 3 x 8 x 8; 8 x 8", 0.25),
    operator("aten::_softmax", "2 x 9", 9.0, path="router"),
    operator("aten::mm", "16 x 12; 12 x 12", 9.0, path="a/q_proj"),
]
RANGED = [
    operator("aten::bmm", QK, 4.0, path="block/attention/scores"),
    operator("aten::exp", "2 x 3 x 8 x 8", 3.0, path="block/attention/softmax"),
    operator("aten::bmm", AV, 2.0, path="block/attention/values"),
]
OWN = Sample(attention="eager", work={}, kernels={"forward": FORWARD[-2:]})


@pytest.mark.parametrize(
    ("sample", "rows", "state"),
    [
        (OWN, OPERATORS, "ok"),
        (Sample(work={}), RANGED, "ok"),
        (OWN, [operator("aten::bmm", "6 x 8 x 8; 6 x 8 x 8", 4.0), *OPERATORS], "not_told_apart"),
        (OWN, OPERATORS[1:], "no_attention"),
    ],
)
def test_operators_and_shapes_tell_what_ranges_and_formulas_do_not(
    tmp_path: Path, sample: Sample, rows: Sequence[dict[str, Any]], state: str
) -> None:
    """A call of AV has two kernels, whose FLOPs count once: 5 over 2 x 4 + 2 x 4 per element.

    10^6 bytes in each ms are 1 GB/s.
    """
    write_tables(tmp_path, sample)
    table = pd.DataFrame([sample.front | each for each in rows])
    table.to_csv(tmp_path / "operators.csv", index=False)
    case = by_case(run_of("e", tmp_path)).iloc[0]
    assert case.state == state
    if state == "ok":
        assert (float(case.time), float(case.flops)) == (0.5, 5 / 16)
        assert (float(case.rate), float(case.product_rate)) == (1.0, 1.0)


@pytest.mark.parametrize(("gb_per_s", "flops", "bound"), [(1.6, 40, 0), (1.6, 4, 1), (2, 4, 0)])
def test_memory_bounds_what_comes_near_its_rate_with_few_flops(
    tmp_path: Path, gb_per_s: float, flops: int, bound: int
) -> None:
    """Softmax reads and writes 1 GB/s of 1.6 or 2, and does 4 or 40 GFLOP in 3 ms.

    The best product does 100 TFLOP/s; 5 % of it are 15 GFLOP in 3 ms.
    """
    work = {"softmax": (flops * 10**9, 1), "scores": (10**12, 1), "values": (10**12, 1)}
    case = Sample(work=work)
    write_tables(tmp_path, case)
    pd.DataFrame([case.front | each for each in RANGED]).to_csv(tmp_path / "operators.csv")
    ceilings = [
        {"kind": "bandwidth", "name": "copy", "best_gb_per_s": gb_per_s},
        {"kind": "bandwidth", "name": "write", "best_gb_per_s": 9.0},
        {"kind": "compute", "name": "matmul", "precision": "fp32", "best_tflop_per_s": 100.0},
    ]
    measured = pd.DataFrame(ceilings).assign(status="ok", best_giga_exp_per_s=None)
    measured.to_csv(tmp_path / "ceilings.csv", index=False)
    made = chapter("e", tmp_path)
    assert f"| softmax is memory-bound in | {bound} of 1 |" in made.markdown["section"]
