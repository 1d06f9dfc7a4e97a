"""The bytes that a call of an operator reads and writes, from the shapes and dtypes it was given.

Each input counts once and each output once, as if caches kept nothing between calls: a tensor given
twice is read once, and an expanded one as far as it lies in memory. Outputs are not recorded; for
the operators below their size follows from the inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.operators import PRODUCTS
from workflow_src.placing.alignment import NOT_ALIGNED
from workflow_src.placing.families import family_of

SIZES = {
    **{"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2},
    **{"int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1},
}
"""Bytes of an element."""

OF_CODE = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16"}
"""torch's numbers for dtypes, as operators receive them (c10/core/ScalarType.h)."""

COMPARISONS = frozenset(f"aten::{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge", "isnan"))
REDUCTIONS = frozenset(f"aten::{name}" for name in ("sum", "mean", "amax", "amin", "prod"))
SOFTMAXES = frozenset(
    f"aten::_{name}{backward}"
    for name in ("softmax", "log_softmax")
    for backward in ("", "_backward_data")
)
PLAIN = frozenset(("aten::mm", "aten::bmm"))
"""The products that add nothing."""
ONLY_WRITE = frozenset(("aten::copy_", "aten::fill_", "aten::zero_"))
"""They write their first input and don't read it, so that it counts once."""

Operator = Mapping[str, Any]
Tensor = tuple[list[int], str]


def tensors(operator: Operator) -> list[Tensor]:
    """Shape and dtype of each tensor among the inputs, those in lists included."""
    found: list[Tensor] = []
    for shape, dtype in zip(operator["shapes"], operator["dtypes"], strict=True):
        if isinstance(dtype, list):
            found += [each for each in zip(shape, dtype, strict=True) if None not in each]
        elif dtype and shape is not None:
            found.append((shape, dtype))
    return found


def _read(operator: Operator) -> int:
    """Bytes of the inputs. Records of older runs don't say what lies in memory of each."""
    stored = operator.get("stored", operator["shapes"])
    return sum(map(_bytes, tensors({**operator, "shapes": stored})))


def _bytes(tensor: Tensor) -> int:
    shape, dtype = tensor
    return prod(shape) * SIZES[dtype]


def moved_bytes(operator: Operator, family: str) -> int | None:
    """Bytes read and written by one call; None if that can't be told.

    `family` is that of the operator: elementwise operators have an output as large as their
    inputs, broadcast.
    """
    try:
        written = _written(operator, family)
        return None if written is None else written + _read(operator)
    except (LookupError, ValueError, TypeError, ArithmeticError):
        return None


def moved_on_cpu(operator: Operator, family: str) -> int | None:
    """As moved_bytes, but 0 for a call that leaves its work to another of its family.

    On a CPU both are activities, on a GPU only what launches something is.
    """
    called = map(family_of, operator.get("calls", []))
    return 0 if family in called else moved_bytes(operator, family)


def booked(found: pd.DataFrame, amounts: pd.Series, own: pd.Series) -> pd.Series:
    """The bytes of each activity of a phase; those of a call lie with one of its activities.

    amounts, own: the bytes of a call of each recorded operator, and its family. They lie with the
    call's first activity in that family, because a product may clear a workspace before and add up
    what it split after; or else with its first kernel. Setting memory moves none of the bytes of
    another operator. Missing where unknown, and for activities without an operator.
    """
    known = found["operator"] != NOT_ALIGNED
    other = found["operator"].map(own) != found["family"]
    clears = other & (found["kind"] == "set")
    order = found.assign(other=other, clears=clears).sort_values(["clears", "other"], kind="stable")
    elsewhere = order.duplicated(["step", "call"]).reindex(found.index) | clears
    return found["operator"].map(amounts).mask(known & elsewhere, 0.0)


def _written(operator: Operator, family: str) -> int | None:
    """Bytes of the outputs, or None. Raises what arithmetic raises for odd inputs."""
    name = operator["operator"]
    given = tensors(operator)
    for names, rule in RULES.items():
        if name in names:
            return rule(operator, given)
    if name.endswith("_"):
        return _in_place(operator, given)
    return _elementwise(name, given) if family == "elementwise" else None


def _in_place(operator: Operator, given: list[Tensor]) -> int:
    shapes, dtypes = operator["shapes"], operator["dtypes"]
    if isinstance(dtypes[0], list):
        # Fused AdamW writes parameters and both moments: lists 0, 2 and 3; it reads gradients.
        written = (0, 2, 3) if "_fused_adam" in operator["operator"] else (0,)
        pairs = (zip(shapes[number], dtypes[number], strict=True) for number in written)
        return sum(_bytes(each) for pair in pairs for each in pair)
    return _bytes(given[0])


def _elementwise(name: str, given: list[Tensor]) -> int:
    shape = np.broadcast_shapes(*(tuple(each[0]) for each in given))
    with_dimensions = [each for each in given if each[0]] or given
    dtype = max((each[1] for each in with_dimensions), key=_rank)
    return prod(shape) * (1 if name in COMPARISONS else SIZES[dtype])


def _rank(dtype: str) -> tuple[bool, int]:
    """Order of dtypes by which the result of an operation on several is chosen."""
    return "float" in dtype, SIZES[dtype]


def _product(operator: Operator, given: list[Tensor]) -> int:
    factors = 2 if operator["operator"] in PLAIN else 3
    if len(given) > factors:
        return 0  # The output was given, and counts as an input.
    (*batch, rows, _), dtype = given[-2]
    return prod((*batch, rows, given[-1][0][-1])) * SIZES[dtype]


def _reduction(operator: Operator, given: list[Tensor]) -> int:
    if len(given) > 1:
        return 0  # The output was given, and counts as an input.
    shape, dtype = given[0]
    axes = [value for value in operator["values"] if isinstance(value, list)]
    rank = max(len(shape), 1)
    over = {axis % rank for axis in axes[0]} if axes and axes[0] else set(range(rank))
    size = SIZES[_asked_dtype(operator["values"][2:]) or dtype]
    return prod(extent for axis, extent in enumerate(shape) if axis not in over) * size


def _softmax(operator: Operator, given: list[Tensor]) -> int:
    """As large as the first input: fp16 may become float32, a gradient has the input's dtype."""
    shape, dtype = given[0]
    widens = any(value is True for value in operator["values"])
    asked = "float32" if widens else _asked_dtype(operator["values"][3:])
    return _bytes((shape, asked or dtype))


def _asked_dtype(values: Sequence[Any]) -> str | None:
    """The first of torch's numbers for dtypes among what follows the axes."""
    return next((OF_CODE[value] for value in values if value in OF_CODE), None)


def _attention(operator: Operator, given: list[Tensor]) -> int:
    """Forward writes what is as large as the values; backward the gradients of q, k and v."""
    if "backward" in operator["operator"]:
        return sum(map(_bytes, given[1:4]))
    return _bytes(given[2])


ATTENTION = frozenset(
    f"aten::{name}{backward}"
    for kind in ("flash_attention", "efficient_attention", "cudnn_attention")
    for name in (f"_scaled_dot_product_{kind}", f"_{kind}_forward", f"_{kind}")
    for backward in ("", "_backward")
)

RULES: dict[frozenset[str], Callable[[Operator, list[Tensor]], int]] = {
    ONLY_WRITE: lambda operator, given: 0,
    PRODUCTS: _product,
    REDUCTIONS: _reduction,
    SOFTMAXES: _softmax,
    frozenset(("aten::cat",)): lambda operator, given: sum(map(_bytes, given)),
    ATTENTION: _attention,
}
"""How many bytes are written, by operator."""
