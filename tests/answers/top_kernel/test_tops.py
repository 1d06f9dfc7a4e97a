"""(b) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from pathlib import Path

import pandas as pd
import pytest

from tests.answers.chapters import run_of
from tests.synthetic_tables import Sample, write_tables
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
