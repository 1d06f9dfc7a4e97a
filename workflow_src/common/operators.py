"""Torch's operators: what their names tell, and what softmax computes."""

PRODUCTS = frozenset(f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm"))
"""Operators that multiply matrices."""

DISPATCHED = "::"
"""Found in names of operators. A function of autograd in Python has none: it may call itself
between the ranges of a model, as nested checkpoints do."""

SOFTMAX_FLOPS = 5
"""Of softmax, per element: max, subtract, exp, sum, divide."""
