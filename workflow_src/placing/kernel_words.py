"""What a kernel or operator does, in words, from its name."""

import re
from functools import cache

TO_BF16 = "cast to bf16"
TO_FP16 = "cast to fp16"
TO_FP32 = "cast to float32"
CASTS = (TO_BF16, TO_FP16, TO_FP32, "cast")

_COPIES = [
    (re.compile(r"bfloat16_copy"), TO_BF16),
    (re.compile(r"(?<!b)float16_copy"), TO_FP16),
    (re.compile(r"unrolled_elementwise.*direct_copy.*?\[lambda\(float\)"), TO_FP32),
    (re.compile(r"unrolled_elementwise.*direct_copy"), "cast"),
]
"""Copies that change the type: ATen's unrolled template is used where input and output differ."""

_FAMILIES = {
    "gemm": "matrix product",
    "attention": "fused attention",
    "recurrent": "recurrent layer",
    "compiled": "compiled code",
}

_OPERATIONS = {
    "add": "addition or subtraction",
    "sub": "subtraction",
    "mul": "elementwise multiplication",
    "div": "division",
    "neg": "negation",
    "exp": "exponential",
    "rsqrt": "reciprocal root",
    "silu": "SiLU",
    **dict.fromkeys(("pow_tensor_scalar", "pow"), "power"),
    **dict.fromkeys(("masked_fill", "masked_fill_", "where"), "masking"),
    **dict.fromkeys(("maxnan", "amax"), "maximum"),
    "sum": "sum",
    "mean": "mean",
    "_softmax": "softmax",
}

_INDUCTOR = re.compile(r"^triton_[a-z]{3}_fused_(\w+?)(?:_\d+)?$")
"""A kernel that torch.compile generated, named after the operations that it fuses."""


@cache
def what(name: str, short_name: str, family: str) -> str:
    """What a kernel or operator does, as a noun: "matrix product", "cast to bf16", "division"; its
    family, where the name says no more."""
    copies = (word for pattern, word in _COPIES if pattern.search(name))
    if family == "copy" and (found := next(copies, "")):
        return found
    if family in _FAMILIES:
        return _FAMILIES[family]
    if fused := _INDUCTOR.match(name):
        return f"fused {fused[1].lstrip('_')}"
    operation = re.search(r"\((\w+)\)$", short_name) or re.search(r"^aten::(\w+)$", short_name)
    other = "elementwise operation" if family == "elementwise" else family
    return _OPERATIONS.get(operation[1], other) if operation else other


def changes_type(name: str) -> bool:
    """Whether a kernel casts; of a CPU's operators, whether it copies: its name tells no more."""
    return name == "aten::copy_" or any(pattern.search(name) for pattern, _ in _COPIES)
