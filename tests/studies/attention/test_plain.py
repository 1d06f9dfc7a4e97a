import torch

from workflow_src.studies.attention.plain import PackedAttention, PlainAttention


def test_the_plain_module_is_attention_without_a_mask() -> None:
    torch.manual_seed(0)
    block, x = PlainAttention(16), torch.randn(2, 8, 16)
    q, k, v = block.q(x), block.k(x), block.v(x)
    expected = block.output(torch.nn.functional.scaled_dot_product_attention(q, k, v))
    torch.testing.assert_close(block(x), expected)
    assert block.q.bias is not None


def test_the_packed_module_is_causal_attention_with_the_same_weights() -> None:
    torch.manual_seed(0)
    block, x = PackedAttention(16, 8), torch.randn(2, 8, 16)
    q, k, v = (x @ part.t() for part in block.qkv.weight.chunk(3))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(block(x), block.output(mixed))
