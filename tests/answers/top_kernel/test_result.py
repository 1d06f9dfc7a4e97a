"""(b) against small tables done by hand: see tests/synthetic_tables.py for their times."""

import pandas as pd
import pytest

from tests.answers.reading import printed, reading
from tests.synthetic_tables import BACKWARD, FORWARD, Sample
from workflow_src.answers.tables import Tables
from workflow_src.answers.top_kernel.layer_calls import explained, in_layers
from workflow_src.answers.top_kernel.products import product_words
from workflow_src.answers.top_kernel.result import TopKernel, result, top_of_case
from workflow_src.paper.value import Value

SCORES = ("scores", "forward", (128, 128, 64, 48), "void gemm_long_name", 12, 4_000_000)
VALUES = ("values", "forward", (128, 64, 128, 48), "void gemm_long_name", 12, 2_000_000)
SAME = [(f"forward_backward/backward/{row[0]}", *row[1:]) for row in FORWARD]


read = reading("b")


def top(tables: Tables, part: str) -> TopKernel:
    found = top_of_case(tables, tables.cases[0], part)
    assert found
    return found


def test_the_top_kernel_is_one_by_its_whole_name_wherever_it_runs(read):
    """6 of 10 ms, in two components; softmax's one kernel takes more than the two elementwise."""
    found = top(read(Sample()), "forward")
    assert found.kernel.name == "void gemm_long_name<float>"
    assert (found.kernel.ms.number, found.kernel.share.number) == (6.0, 0.6)
    assert printed(found.calls) == "24"
    assert printed(found.where) == "QK^T 12, AV 12"
    assert (found.by_what.what, found.by_what.share.number) == ("matrix product", 0.6)
    assert found.besides and (found.besides.what, found.besides.ms.number) == ("softmax", 2.0)


def test_on_a_cpu_what_calls_a_product_is_none(read):
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
    kernels, products_of = {"forward": forward}, {"forward": products}
    found = top(read(Sample(device="cpu", kernels=kernels, products=products_of)), "forward")
    assert (found.product.name, found.product.ms.number) == ("output head", 4.0)


@pytest.mark.parametrize(("ns", "name"), [(3_000_000, "output head"), (5_000_000, "self_attn")])
def test_on_a_cpu_fused_attention_is_held_against_products_with_sizes(read, ns, name):
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
    product = top(read(sample), "forward").product
    assert product and product.name == name


@pytest.mark.parametrize(
    ("part", "name", "share"),
    [
        ("backward", "gemm_backward", 12 / 14),
        ("forward_backward", "gemm_backward", 12 / 20),
        ("train_step", "adamw", 9 / 20),
    ],
)
def test_each_part_has_a_top_kernel_of_its_own(read, part, name, share):
    found = top(read(Sample()), part)
    assert found.kernel.name == name
    assert found.kernel.share.number == pytest.approx(share)


@pytest.mark.parametrize(
    ("products", "name", "share"),
    [
        ([SCORES, VALUES], "QK^T", 0.4),
        ([SCORES], "QK^T and AV", 0.6),
        ([], "QK^T and AV", 0.6),
    ],
)
def test_a_product_is_named_where_products_account_for_every_call(read, products, name, share):
    found = top(read(Sample(products={"forward": products})), "forward").product
    assert found and found.name == name
    assert found.share.number == pytest.approx(share)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["up", "gate"], "feed-forward gate and up"),
        (["gate", "gate or up"], "feed-forward gate"),
        (["head", "scores"], "QK^T and output head"),
        ([""], "a product that no name is known of"),
    ],
)
def test_products_of_the_same_sizes_are_named_together(names, words):
    assert product_words(names) == words


@pytest.mark.parametrize(
    ("calls", "layers", "words"),
    [
        ({"forward/block/feed_forward": 60, "forward/head": 2}, 12, "62 (5 per layer + 2)"),
        ({"forward/block/norm": 24}, 12, "24 (2 per layer)"),
        ({"forward/head": 2}, 12, "2"),
        ({"forward/block/norm": 25}, 12, "25"),
        ({"x/backward": 37}, 12, "37 (3 per layer + 1)"),
        ({"x/backward": 39}, 12, "39"),
        ({"x/backward": 7}, 3, "7"),
        ({"x/forward/block/norm": 24, "x/backward": 13}, 12, "37 (3 per layer + 1)"),
        ({"x/backward": 36, "x/optimizer": 300}, 12, "336"),
        ({"forward/block/norm": 24}, None, "24"),
    ],
)
def test_calls_are_split_into_those_of_layers_where_ranges_or_division_tell(calls, layers, words):
    rows = pd.DataFrame({"path": list(calls), "calls": calls.values(), "steps": 1})
    number = Value(sum(calls.values()), "calls", ())
    known = Value(layers, "count", ()) if layers else None
    assert printed(explained(number, in_layers(rows, known), known)) == words


def test_backward_is_held_against_forward_by_whole_name(read):
    kernels = {"forward": FORWARD, "forward_backward": SAME}
    found = result(read(Sample(), Sample(context=256, kernels=kernels)))
    assert printed(found.same.cell) == "1 of 2"
    rows = found.summary.set_index(found.summary.columns[0])["fp32"].map(printed)
    assert rows["both are matrix products, by different kernels"] == "1 of 2"
    assert rows["forward: the top kernel is a"] == "matrix product, 2 of 2"
    assert printed(found.opening[0].cells["fp32"]) == "matrix product, 2 of 2"


def test_without_a_range_of_backward_there_is_no_top_kernel_of_it(read):
    kernels = {"forward": FORWARD, "forward_backward": BACKWARD[:1]}
    found = result(read(Sample(kernels=kernels)))
    assert not found.same.of.number
    assert found.backward is None
