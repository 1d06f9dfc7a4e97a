"""(e) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.chapters import run_of
from tests.synthetic_tables import FORWARD, Sample, write_tables
from workflow_src.answers.softmax.chapter import attention as by_case


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
