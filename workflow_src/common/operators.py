"""Torch's operators: what their names tell, and what softmax computes."""

PRODUCTS = frozenset(f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm"))
"""Operators that multiply matrices."""

GROUPED = frozenset(("aten::_grouped_mm", "aten::_scaled_grouped_mm"))
"""Operators that multiply each group of rows or columns by its own matrix: experts."""

MULTIPLYING = PRODUCTS | GROUPED

SOFTMAX = "aten::_softmax"

COPY = "aten::copy_"

LAYERS = frozenset(
    f"aten::{name}" for name in ("_native_multi_head_attention", "_transformer_encoder_layer_fwd")
)
"""Operators that do a whole layer, as nn.TransformerEncoderLayer has it done without gradients."""

CALLING = frozenset(f"aten::{name}" for name in ("linear", "matmul", "einsum"))
"""Operators that multiply by calling one of PRODUCTS."""

DISPATCHED = "::"
"""Found in names of operators, not of autograd's functions in Python: those may call themselves
between the ranges of a model, as nested checkpoints do."""

SOFTMAX_FLOPS = 5
"""Of softmax, per element: max, subtract, exp, sum, divide."""
