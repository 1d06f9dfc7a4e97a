"""(a) to (e) against small tables done by hand, of synthetic_tables.py, and their parts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.chapters import facts, run_of
from tests.synthetic_tables import FORWARD, Kernel, Sample, write_tables
from workflow_src.answers.components import components
from workflow_src.answers.gemm_share.chapter import verdict
from workflow_src.answers.machines import meanwhile
from workflow_src.answers.softmax.chapter import attention as by_case

OTHERS = {"forward_backward": 36.0, "train_step": 50.0}


def of_times(plain: float, profiled: float, context: int = 128, **about: object) -> Sample:
    """A forward pass of 10 ms of device time that takes so long without the profiler and with."""
    times = Sample().times_ms | {"forward": (profiled, 10.0)}
    median = {"forward": plain, **OTHERS}
    made = Sample(context=context, times_ms=times, median_ms=median)
    return replace(made, **about)


def test_each_phase_has_its_mean_and_what_compiling_changes(tmp_path: Path) -> None:
    compiled = of_times(12, 13, execution="compiled")
    found = facts("a", tmp_path, of_times(24, 30), compiled)
    assert list(found["phases"]["phase"][:3]) == ["forward", "forward + backward", "training step"]
    assert [str(each) for each in found["phases"]["shown"][:3]] == ["24.0", "36.0", "50.0"]
    rows = found["compiled"]
    assert list(map(str, rows["times"])) == ["2.0 ×", "1.0 ×", "1.0 ×"]
    assert rows["eager_unprofiled"].iloc[0].value == 24


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((20, 19, 0, 19, 15), "by the optimizer"),
        ((20, 19, 0, 6, 1), "by backward"),
        ((20, 19, 0, 19, 10), "falls"),
        ((1, 1, 0, 0, 0), "falls"),
        ((20, 10, 3, 10, 10), "depends"),
        ((20, 0, 0, 0, 0), "rises or same"),
        ((0, 0, 0, 0, 0), "can't tell"),
    ],
)
def test_the_verdict_follows_from_what_is_counted(counts: Sequence[int], said: str) -> None:
    both, falls, rises, known, by_optimizer = counts
    assert verdict(both, falls, rises, known, by_optimizer) == said


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


def test_modules_are_named_by_what_tells_them_apart():
    """One name in all phases; that of a module around others is not taken for another's end."""
    names = {
        "forward/model/layers/attn": "layers.attn",
        "forward/model/layers/attn/c_proj": "attn.c_proj",
        "forward/model/layers/mlp/c_proj": "mlp.c_proj",
        "train_step/forward/model/layers/mlp/c_proj": "mlp.c_proj",
        "forward/model/layers/mlp/c_fc": "c_fc",
        "forward/attn": "attn",
        "forward/model/layers/attn/softmax": "softmax",
    }
    assert components(names) == names


def test_cases_measured_at_once_on_one_host_are_told_process_by_process() -> None:
    rows = [
        ("a", "h", "1", "3", ""),
        ("b", "h", "2", "4", ""),
        ("c", "h", "4", "9", "4 5; 8 9"),
        ("between its processes", "h", "5", "8", ""),
        ("at its second", "h", "8", "9", "6 7; 8 9"),
        ("elsewhere", "i", "1", "9", ""),
        ("unknown", "", "1", "9", ""),
    ]
    columns = ["case", "host_id", "started_at", "ended_at", "processes_at"]
    found = meanwhile(pd.DataFrame(rows, columns=columns))
    assert found.to_dict() == {
        "a": "b", "b": "a", "c": "at its second", "at its second": "between its processes; c",
        "between its processes": "at its second",
    }  # fmt: skip
