"""The bytes that a call of an operator reads and writes, from the shapes and dtypes it was given.

Each input and each output counts once, as if caches kept nothing between calls: a tensor given
twice is read once, an expanded one as far as it lies in memory. Outputs aren't recorded; for the
operators below their size follows from the inputs.
"""

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.operators import PRODUCTS
from workflow_src.placing.families import family_of
from workflow_src.tables.products import Operator, product_flops
from workflow_src.tables.records import NOT_ALIGNED

SIZES = {
    **{"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2},
    **{"int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1},
}
"""Bytes of an element."""

OF_CODE = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16"}
"""torch's numbers for dtypes, as operators receive them (c10/core/ScalarType.h)."""

COMPARISON = re.compile("aten::(eq|ne|lt|le|gt|ge|isnan)$")
REDUCTION = re.compile("aten::(sum|mean|amax|amin|prod)$")
SOFTMAX = re.compile("aten::_(log_)?softmax(_backward_data)?$")
ATTENTION = re.compile(
    "aten::(_scaled_dot_product)?_(flash|efficient|cudnn)_attention(_forward)?(_backward)?$"
)

Tensor = tuple[list[int], str]


def tensors(operator: Operator, shapes: str = "shapes") -> list[Tensor]:
    """Shape and dtype of each tensor among the inputs, those in lists included."""
    found: list[Tensor] = []
    for shape, dtype in zip(operator[shapes], operator["dtypes"], strict=True):
        if isinstance(dtype, list):
            found += [each for each in zip(shape, dtype, strict=True) if None not in each]
        elif dtype and shape is not None:
            found.append((shape, dtype))
    return found


def _bytes(*given: Tensor) -> int:
    return sum(prod(shape) * SIZES[dtype] for shape, dtype in given)


def moved_bytes(operator: Operator, on_cpu: bool = False) -> int | None:
    """Bytes read and written by one call; None if that can't be told.

    Inputs' bytes in memory are recorded where the shapes don't tell. On a CPU, where both are
    activities, a call that leaves its work to another of its family moves none.
    """
    if on_cpu and family_of(operator["operator"]) in map(family_of, operator.get("calls", [])):
        return 0
    try:
        written = _written(operator)
        read = tensors(operator, "stored" if "stored" in operator else "shapes")
        return None if written is None else written + _bytes(*read)
    except (LookupError, ValueError, TypeError, ArithmeticError):
        return None


def with_amounts(found: pd.DataFrame, operators: Sequence[Operator]) -> pd.DataFrame:
    """A phase's activities with the `bytes` and `flops` of their calls; missing where unknown, and
    without an operator.

    A call's lie with its first activity in the operator's family, as a product may clear a
    workspace before and add up what it split after; or else with its first kernel. Setting memory
    moves none of another operator's.
    """
    on_cpu = bool((found["kind"] == "operator").any())
    known = found["operator"] != NOT_ALIGNED
    other = found["own_family"] != found["family"]
    clears = other & (found["kind"] == "set")
    order = found.assign(other=other, clears=clears).sort_values(["clears", "other"], kind="stable")
    elsewhere = order.duplicated(["step", "call"]).reindex(found.index) | clears

    def of_calls(amounts: list[int | None]) -> pd.Series:
        each = found["operator"].map(pd.Series(amounts, dtype="float64"))
        return each.mask(known & elsewhere & each.notna(), 0.0)

    return found.assign(
        bytes=of_calls([moved_bytes(each, on_cpu) for each in operators]),
        flops=of_calls([product_flops(each) for each in operators]),
    )


def _written(operator: Operator) -> int | None:
    """Bytes of the outputs, or None. Raises what arithmetic raises for odd inputs.

    An output that was given counts as an input. Copies and fills in place don't read their first
    input, so that it counts once.
    """
    name, given, values = operator["operator"], tensors(operator), operator.get("values", ())
    if name in ("aten::copy_", "aten::fill_", "aten::zero_"):
        return 0
    if name in PRODUCTS:
        factors = 2 if name in ("aten::mm", "aten::bmm") else 3
        (*batch, rows, _), dtype = given[-2]
        return 0 if len(given) > factors else _bytes(([*batch, rows, given[-1][0][-1]], dtype))
    if REDUCTION.match(name):
        return 0 if len(given) > 1 else _reduced(given[0], values)
    if SOFTMAX.match(name):
        # As large as the first input: fp16 may become float32, a gradient has the input's dtype.
        widens = any(value is True for value in values)
        return _bytes((given[0][0], "float32" if widens else _asked(values[3:]) or given[0][1]))
    if name == "aten::cat":
        return _bytes(*given)
    if ATTENTION.match(name):  # As large as the values; backward, the gradients of q, k and v.
        return _bytes(*given[1:4]) if "backward" in name else _bytes(given[2])
    if name.endswith("_"):
        return _in_place(operator, given)
    return _elementwise(name, given) if family_of(name) == "elementwise" else None


def _in_place(operator: Operator, given: Sequence[Tensor]) -> int:
    shapes, dtypes = operator["shapes"], operator["dtypes"]
    if not isinstance(dtypes[0], list):
        return _bytes(given[0])
    # Fused AdamW writes parameters and both moments: lists 0, 2 and 3; it reads gradients.
    written = (0, 2, 3) if "_fused_adam" in operator["operator"] else (0,)
    pairs = (zip(shapes[number], dtypes[number], strict=True) for number in written)
    return sum(_bytes(*pair) for pair in pairs)


def _elementwise(name: str, given: Sequence[Tensor]) -> int:
    """As large as the inputs, broadcast; of the widest dtype of those with dimensions."""
    shape = np.broadcast_shapes(*(tuple(each[0]) for each in given))
    dtypes = [dtype for shape, dtype in given if shape] or [dtype for _, dtype in given]
    widest = max(dtypes, key=lambda dtype: ("float" in dtype, SIZES[dtype]))
    return prod(shape) * (1 if COMPARISON.match(name) else SIZES[widest])


def _reduced(given: Tensor, values: Sequence[Any]) -> int:
    shape, dtype = given
    axes = [value for value in values if isinstance(value, list)]
    rank = max(len(shape), 1)
    over = {axis % rank for axis in axes[0]} if axes and axes[0] else set(range(rank))
    left = [extent for axis, extent in enumerate(shape) if axis not in over]
    return _bytes((left, _asked(values[2:]) or dtype))


def _asked(values: Sequence[Any]) -> str | None:
    return next((OF_CODE[value] for value in values if value in OF_CODE), None)
