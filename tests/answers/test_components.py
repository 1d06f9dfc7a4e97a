"""Which component a range's path stands for."""

import pytest

from workflow_src.answers.components import components


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("forward/block/attention/qkv", "q/k/v projections"),
        ("forward_backward/forward/block/attention/softmax", "softmax"),
        ("forward/block", "residual additions"),
        ("forward_backward/backward", "backward"),
        ("forward", "elsewhere"),
        ("forward/block/unheard_of", "unheard_of"),
        ("train_step", "elsewhere"),
        ("train_step/zero_grad", "zero grad"),
        ("", "elsewhere"),
    ],
)
def test_components_of_paths(path, name):
    assert components([path])[path].name == name


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
    assert {path: each.name for path, each in components(names).items()} == names
