"""Torch's operators: what their names tell, and what softmax computes."""

PRODUCTS = frozenset(f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm"))
"""Operators that multiply matrices."""

GROUPED = frozenset(("aten::_grouped_mm", "aten::_scaled_grouped_mm"))
"""Operators that multiply each group of rows, or of columns, by a matrix of its own: experts."""

MULTIPLYING = PRODUCTS | GROUPED

SOFTMAX, CALLING_SOFTMAX = "aten::_softmax", "aten::softmax"
"""The operator, and what calls it, which is an activity of its own on a CPU."""

COPY = "aten::copy_"

LAYERS = frozenset(
    f"aten::{name}" for name in ("_native_multi_head_attention", "_transformer_encoder_layer_fwd")
)
"""Operators that do a whole layer, as nn.TransformerEncoderLayer has it done without gradients."""

CALLING = frozenset(f"aten::{name}" for name in ("linear", "matmul", "einsum"))
"""Operators that multiply by calling one of PRODUCTS."""

DISPATCHED = "::"
"""Found in names of operators. A function of autograd in Python has none: it may call itself
between the ranges of a model, as nested checkpoints do."""

SOFTMAX_FLOPS = 5
"""Of softmax, per element: max, subtract, exp, sum, divide."""
