"""FLOPs of operators that no closed formula of this project describes, against hand numbers."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from workflow_src.common.operators import LAYERS, MULTIPLYING
from workflow_src.measure.flop_count import ADDED, counted_flops
from workflow_src.tables.products import product_flops


def trained(module: nn.Module, *shape: int) -> Callable[[], object]:
    given = torch.randn(*shape, requires_grad=True)

    def step() -> None:
        found = module(given)
        (found[0] if isinstance(found, tuple) else found).pow(2).sum().backward()

    return step


@pytest.mark.parametrize(
    ("step", "forward"),
    [
        # Each of 5 x 3 elements: 4 gates of 16 from 8 and from 16, then from 16 and from 16.
        (trained(nn.LSTM(8, 16, 2), 5, 3, 8), 2 * 15 * 4 * 16 * (8 + 16 + 16 + 16)),
        (trained(nn.LSTM(8, 16, bidirectional=True), 5, 3, 8), 2 * 2 * 15 * 4 * 16 * (8 + 16)),
        # 2 images of 6 x 6: 4 channels from 3 x 3 patches of 3 channels.
        (trained(nn.Conv2d(3, 4, 3, padding=1), 2, 3, 6, 6), 2 * 2 * 36 * 4 * 27),
        # Of 4 x 4 elements, each channel from its own, and 8 channels from 2 of 4.
        (trained(nn.Conv2d(4, 4, 3, groups=4), 2, 4, 6, 6), 2 * 2 * 16 * 4 * 9),
        (trained(nn.Conv2d(4, 8, 3, groups=2), 2, 4, 6, 6), 2 * 2 * 16 * 8 * 18),
        # Each of 5 x 5 elements goes to 3 of 6 channels.
        (trained(nn.ConvTranspose2d(4, 6, 3, groups=2), 2, 4, 5, 5), 2 * 2 * 25 * 4 * 27),
    ],
)
def test_a_step_has_three_times_the_flops_of_its_forward_pass(
    step: Callable[[], object], forward: int
) -> None:
    counted = counted_flops(step)
    assert sum(counted.values()) == 3 * forward
    assert min(counted.values()) == forward


def test_each_row_of_a_grouped_product_is_in_one_group() -> None:
    """Experts for 4 and 12 of 16 rows: 2 x (4 + 12) x 8 x 24, and as much for each gradient."""
    x, weight = torch.randn(16, 8, requires_grad=True), torch.randn(2, 8, 24, requires_grad=True)
    ends = torch.tensor([4, 16], dtype=torch.int32)
    counted = counted_flops(lambda: torch._grouped_mm(x, weight, offs=ends).pow(2).sum().backward())
    assert counted == {"aten::_grouped_mm": 3 * 2 * 16 * 8 * 24}
    assert set(counted) <= MULTIPLYING


def test_fused_attention_on_a_cpu_is_two_products() -> None:
    q = torch.randn(2, 4, 16, 8)
    counted = counted_flops(lambda: nn.functional.scaled_dot_product_attention(q, q, q))
    assert sum(counted.values()) == 2 * (2 * 2 * 4 * 16 * 16 * 8)


@pytest.mark.parametrize("hidden", [0, 32])
def test_a_whole_layer_that_is_one_operator_has_the_flops_of_its_products(hidden: int) -> None:
    """Of 2 x 6 elements of 16: to queries, keys, values and back, and with the 6 of a row."""
    x = torch.randn(2, 6, 16)
    attention = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    layer = nn.TransformerEncoderLayer(16, 2, hidden or 1, batch_first=True).eval()
    with torch.no_grad():
        counted = counted_flops(lambda: layer(x) if hidden else attention(x, x, x))
    assert set(counted) <= LAYERS and len(counted) == 1
    assert sum(counted.values()) == 2 * 12 * 16 * (4 * 16 + 2 * hidden + 2 * 6)


RNN = {"_cudnn_rnn": 1, "_cudnn_rnn_backward": 2}


@pytest.mark.parametrize(("name", "times"), RNN.items())
def test_a_layer_of_cudnn_has_the_flops_of_its_matrices(name: str, times: int) -> None:
    weights = [(64, 8), (64, 16), (64,), (64,)]
    assert ADDED[name]((5, 3, 8), weights, 4, None) == times * 2 * 15 * 64 * (8 + 16)


@pytest.mark.parametrize(
    ("first", "second", "flops"),
    [
        ([16, 8], [2, 8, 24], 2 * 16 * 24 * 8),
        ([2, 16, 8], [2, 8, 24], 2 * 16 * 24 * 8 * 2),
    ],
)
def test_a_grouped_product_has_the_flops_of_all_its_groups(
    first: list[int], second: list[int], flops: int
) -> None:
    found = product_flops({"operator": "aten::_grouped_mm", "shapes": [first, second, [2]]})
    assert found == flops == ADDED["_grouped_mm"](first, second, [2])
