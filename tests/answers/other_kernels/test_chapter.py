"""(c) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.chapters import chapter, facts, facts_of
from tests.synthetic_tables import FORWARD, Kernel, Sample, write_tables

CAST: Kernel = ("forward/block/attention/qkv", "x bfloat16_copy_kernel", "copy", 6, 1_000_000)


def scaled(products: float, square: float, rest: float) -> dict[str, list[Kernel]]:
    """A forward pass with products, work on context x context, and all else so many times."""

    def factor(path: str, family: str) -> float:
        if family == "gemm":
            return products
        return square if path.endswith(("scores", "softmax")) else rest

    rows = [(p, name, f, calls, int(ns * factor(p, f))) for p, name, f, calls, ns in FORWARD]
    return {"forward": rows}


def floats(frame: pd.DataFrame) -> list[list[float]]:
    return frame.map(float).to_numpy().tolist()


def test_components_hold_products_and_all_else(tmp_path: Path) -> None:
    """Of 10 ms: scores 4 ms of products and 0.5 of other work, values 2 ms of products alone."""
    found = facts("c", tmp_path, Sample())
    names = ["norms", "scores and mask", "softmax", "elsewhere"]
    assert floats(found["besides"][names]) == [pytest.approx([0.005, 0.05, 0.3, 0.045])]
    assert floats(found["with_products"][[*names, "values"]]) == [
        pytest.approx([0.005, 0.45, 0.3, 0.045, 0.2])
    ]
    case = found["by_case"].iloc[0]
    assert [str(case[name]) for name in ("product_launches", "launches")] == ["24", "74"]


def test_medians_are_over_the_cases_of_a_precision_and_small_parts_left_out(tmp_path: Path) -> None:
    """Norms take 0.5 % of the pass; with products 4 times as long all else takes 4 of 28 ms."""
    found = facts("c", tmp_path, Sample(), Sample(context=256, kernels=scaled(4, 1, 1)))
    rows = found["components"].set_index("")
    assert list(rows.index) == ["softmax", "scores and mask", "elsewhere"]
    assert float(rows["fp32"]["softmax"]) == pytest.approx((3 / 10 + 3 / 28) / 2)
    assert rows["remedy"]["softmax"] == "sdpa, compile"
    assert list(found["kinds"][""]) == ["softmax", "elementwise operation", "copy"]
    told = [str(found[name]) for name in ("verdict", "largest", "leads")]
    assert told == ["less", "softmax", "2 of 2"]


@pytest.mark.parametrize(
    ("factors", "verdict", "times"),
    [
        ((0.25, 2, 2), "slower", ["4.0 ×", "0.44 ×", "0.50 ×"]),
        ((0.05, 0.5, 0.5), "faster", ["20 ×", "1.3 ×", "2.0 ×"]),
        ((0.9, 1, 1), "less", ["1.1 ×", "0.80 ×", "1.0 ×"]),
    ],
)
def test_precisions_are_compared_between_cases_alike_in_all_else(
    tmp_path: Path, factors: tuple[float, float, float], verdict: str, times: list[str]
) -> None:
    """4 ms of all else become so many, and 1 ms of casts joins them."""
    kernels = {"forward": [*scaled(*factors)["forward"], CAST]}
    found = facts("c", tmp_path, Sample(), Sample(precision="bf16", kernels=kernels))
    rows = found["summary"].set_index("")["bf16"]
    assert [str(cell) for cell in rows[rows.index.str.contains("as fast|but casts")]] == times
    assert found["verdict"] == verdict


def test_what_works_on_context_squared_grows_on_its_own(tmp_path: Path) -> None:
    longest = Sample(context=512, kernels=scaled(4, 16, 5))
    between = Sample(context=256, kernels=scaled(2, 4, 2))
    cells = facts("c", tmp_path, Sample(), between, longest)["growth"].iloc[0]
    assert [*map(str, cells)] == ["fp32", "128 to 512", "16 ×", "4.0 ×", "5.0 ×", "1 of 1"]


def test_casts_of_weights_are_those_of_matrices(tmp_path: Path) -> None:
    """1 of 10 ms: an activation has a batch and a context, and a copy alone casts nothing."""
    write_tables(tmp_path, Sample(precision="bf16"))
    cast = "vectorized_elementwise(bfloat16_copy)"
    copies = [
        ("768 x 768; 768 x 768", cast, 1.0),
        ("4 x 128 x 768; 4 x 128 x 768", cast, 2.0),
        ("768 x 768; 768 x 768", "elementwise(direct_copy)", 4.0),
    ]
    about: dict[str, Any] = {"phase": "forward", "operator": "aten::copy_", "path": "forward"}
    about |= {"family": "copy", "forward_operator": "", "dtypes": "", "calls_per_step": 1}
    table = pd.DataFrame(copies, columns=["shapes", "short_name", "busy_ms_per_step"])
    about |= Sample(precision="bf16").front
    table.assign(**about, bytes_per_step=1).to_csv(tmp_path / "operators.csv", index=False)
    case = facts_of("c", tmp_path)["by_case"].iloc[0]
    assert [str(case[name]) for name in ("casts", "cast_share")] == ["1.00", "10 %"]


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


def test_a_disturbed_case_is_counted_and_a_lost_one_says_why(tmp_path: Path) -> None:
    late = Sample(context=256, device="cpu", status={"forward": ("oom", "")})
    plain = {"forward": 9.0, "forward_backward": 36.0, "train_step": 50.0}
    write_tables(tmp_path, Sample(device="cpu", median_ms=plain), late)
    section = chapter("c", tmp_path).markdown["section"]
    assert "| small | 40 % | OOM |" in section and "capture of 1 of 1 case" in section


def test_the_figure_has_a_bar_of_what_matters(tmp_path: Path) -> None:
    (axes,) = facts("c", tmp_path, Sample())["figure"].draw().axes
    widths = {each.get_label(): each.patches[0].get_width() for each in axes.containers}
    assert widths == pytest.approx(
        {"softmax": 30, "scores and mask": 5, "elsewhere": 4.5, "other": 0.5}
    )
