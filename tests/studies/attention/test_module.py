import torch

from workflow_src.studies.attention import cores
from workflow_src.studies.attention.module import SingleHeadBlock, attention_core


def test_the_module_keeps_its_shape_and_cores_agree_in_it():
    torch.manual_seed(0)
    naive = SingleHeadBlock(8, cores.core_of("naive", 5, "cpu"))
    fused = SingleHeadBlock(8, attention_core("sdpa", 5))
    fused.load_state_dict(naive.state_dict())
    x = torch.randn(2, 5, 8)
    assert naive(x).shape == x.shape
    torch.testing.assert_close(naive(x), fused(x))
