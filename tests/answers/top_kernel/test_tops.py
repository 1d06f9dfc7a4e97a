"""(b) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from pathlib import Path

import pandas as pd
import pytest

from tests.answers.chapters import facts, run_of
from tests.synthetic_tables import BACKWARD, FORWARD, Sample, write_tables
from workflow_src.answers.top_kernel.tops import calls, in_layers, product_words, tops
from workflow_src.paper.number import Number

SCORES = ("scores", "forward", (128, 128, 64, 48), "void gemm_long_name", 12, 4_000_000)
VALUES = ("values", "forward", (128, 64, 128, 48), "void gemm_long_name", 12, 2_000_000)


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


@pytest.mark.parametrize(("ns", "name"), [(3_000_000, "output head"), (5_000_000, "self_attn")])
def test_on_a_cpu_fused_attention_is_held_against_products_with_sizes(
    tmp_path: Path, ns: int, name: str
) -> None:
    """Operators run every product: by name alone, head and down_proj would be one."""
    fused = "aten::_scaled_dot_product_flash_attention_for_cpu"
    forward = [
        ("forward/head", "aten::mm", "gemm", 2, 4_000_000),
        ("forward/mlp", "aten::mm", "gemm", 2, 2_000_000),
        ("forward/self_attn", fused, "attention", 2, ns),
    ]
    products = [
        ("head", "forward", (128, 500, 64, 1), "aten::mm", 2, 4_000_000),
        ("mlp", "forward", (128, 64, 256, 1), "aten::mm", 2, 2_000_000),
    ]
    sample = Sample(device="cpu", kernels={"forward": forward}, products={"forward": products})
    assert top(tmp_path, sample)["product"] == name


@pytest.mark.parametrize(
    ("products", "name", "share"),
    [([SCORES, VALUES], "QK^T", 0.4), ([SCORES], "QK^T and AV", 0.6), ([], "QK^T and AV", 0.6)],
)
def test_a_product_is_named_where_products_account_for_every_call(
    tmp_path: Path, products: list, name: str, share: float
) -> None:
    found = top(tmp_path, Sample(products={"forward": products}))
    assert found["product"] == name
    assert found["product_share"].value == pytest.approx(share)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["up", "gate"], "feed-forward gate and up"),
        (["gate", "gate or up"], "feed-forward gate"),
        (["head", "scores"], "QK^T and output head"),
        ([""], "a product that no name is known of"),
    ],
)
def test_products_of_the_same_sizes_are_named_together(names: list[str], words: str) -> None:
    assert product_words(names) == words


@pytest.mark.parametrize(
    ("made", "layers", "each", "besides"),
    [
        ({"forward/block/feed_forward": 60, "forward/head": 2}, 12, 5, 2),
        ({"forward/block/norm": 24}, 12, 2, None),
        ({"forward/head": 2}, 12, None, None),
        ({"forward/block/norm": 25}, 12, None, None),
        ({"x/backward": 37}, 12, 3, 1),
        ({"x/backward": 39}, 12, None, None),
        ({"x/backward": 7}, 3, None, None),
        ({"x/forward/block/norm": 24, "x/backward": 13}, 12, 3, 1),
        ({"x/backward": 36, "x/optimizer": 300}, 12, None, None),
        ({"forward/block/norm": 24}, None, None, None),
    ],
)
def test_calls_are_split_into_those_of_layers_where_ranges_or_division_tell(
    made: dict[str, int], layers: int | None, each: int | None, besides: int | None
) -> None:
    rows = pd.DataFrame({"path": list(made), "calls_per_step": list(map(float, made.values()))})
    rows = rows.assign(case="c", part="p").set_index(
        pd.MultiIndex.from_product([["kernels"], range(len(made))])
    )
    known = pd.Series({"c": Number(layers, "count")} if layers else {}, dtype=object)
    found = calls(rows, in_layers(rows, known), known).iloc[0]
    assert found["calls"].value == sum(made.values())
    for name, expected in (("per_layer", each), ("besides", besides)):
        assert found[name] == expected if expected else found[name] != found[name]


def test_without_a_range_of_backward_there_is_no_top_kernel_of_it(tmp_path: Path) -> None:
    kernels = {"forward": FORWARD, "forward_backward": BACKWARD[:1]}
    found = facts("b", tmp_path, Sample(kernels=kernels))
    assert found["backward"]["share"] != found["backward"]["share"]


def test_a_phase_that_ran_out_of_memory_says_so_in_its_cell(tmp_path: Path) -> None:
    lost = Sample(context=256, status={"forward": ("oom", "CUDA out of memory")})
    (table,) = facts("b", tmp_path, Sample(), lost)["matrices"].values()
    assert list(table.iloc[0, 1:]) == [("matrix product",), "OOM"]
