"""What names of torch's operators tell."""

PRODUCTS = frozenset(f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm"))
"""Operators that multiply matrices."""

DISPATCHED = "::"
"""Found in names of operators. A function of autograd in Python has none: it may call itself
between the ranges of a model, as nested checkpoints do."""
