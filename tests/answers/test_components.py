"""Which component a range's path stands for."""

import pytest

from workflow_src.answers.components import component_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("forward/block/attention/qkv", "q/k/v projections"),
        ("forward_backward/forward/block/attention/softmax", "softmax"),
        ("forward/block", "residual additions"),
        ("forward_backward/backward", "backward"),
        ("forward", "elsewhere"),
        ("forward/block/unheard_of", "unheard of"),
        ("train_step", "elsewhere"),
        ("", "elsewhere"),
    ],
)
def test_components_of_paths(path, name):
    assert component_of(path).name == name
