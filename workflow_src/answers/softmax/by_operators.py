"""Softmax and attention's products without ranges of their own: told apart by operators and shapes.

For brought models, whose attention is one module: softmax runs between two batched products in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import pandas as pd

from workflow_src.render.value import Value, ratio, rows_of, value

SOFTMAX_FLOPS = 5
"""Per element: maximum, subtraction, exponential, sum, division."""

SOFTMAX, CALLER = "aten::_softmax", "aten::softmax"
"""The operator, and what calls it, which is an activity of its own on a CPU."""

BATCHED = frozenset({"aten::bmm", "aten::baddbmm"})

Shapes = list[list[int]]


@dataclass(frozen=True)
class Attention:
    """The rows of operators.csv that are softmax, QK^T and AV, and all else in the same modules."""

    softmax: pd.DataFrame
    scores: pd.DataFrame
    values: pd.DataFrame
    beside: pd.DataFrame

    @property
    def flop_ratio(self) -> Value | None:
        """Softmax's FLOPs over both products'."""
        products = pd.concat([self.scores, self.values])
        softmax = self.softmax[self.softmax["operator"] == SOFTMAX]
        above, below = _flops(softmax, _of_softmax), _flops(products, _of_product)
        return ratio(above, below, "times", "FLOPs of softmax / (QK^T + AV)")


def attention(operators: pd.DataFrame) -> Attention | None:
    """The attention in a forward pass's rows of operators.csv.

    None where there is no pair of products around a softmax, or sizes don't tell the two apart.
    """
    softmax, products = _around_softmax(operators)
    scores, values = (products[products["kind"] == name] for name in ("qk", "av"))
    if scores.empty or values.empty or alike(operators):
        return None
    softmax = softmax[softmax["path"].isin(products["path"])]
    inside = operators[operators["path"].isin(softmax["path"])]
    beside = inside.drop(softmax.index.union(scores.index).union(values.index))
    return Attention(softmax, scores, values, beside)


def alike(operators: pd.DataFrame) -> bool:
    """Whether sizes don't tell QK^T and AV apart: the context is as long as a head is wide."""
    _, products = _around_softmax(operators)
    return bool((products["kind"] == "either").any())


def _around_softmax(operators: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows that are a softmax, and the batched products in the same modules, with `kind`.

    QK^T ("qk") has a softmax's input as output, and AV ("av") its output as first factor.
    """
    softmax = operators[operators["operator"].isin([SOFTMAX, CALLER])]
    softmax = softmax[softmax["shapes"] != ""]
    squares = {tuple(_shapes(each)[0][-2:]) for each in softmax["shapes"]}
    inside = operators["path"].isin(softmax["path"]) & operators["operator"].isin(BATCHED)
    products = operators[inside]
    return softmax, products.assign(kind=[_kind(each, squares) for each in products["shapes"]])


def _kind(shapes: str, squares: set[tuple[int, ...]]) -> str:
    """Which of the two a batched product is, given the last two sizes of softmaxes."""
    first, second = _shapes(shapes)[-2:]
    of_scores, of_values = (first[-2], second[-1]) in squares, tuple(first[-2:]) in squares
    if of_scores and of_values:
        return "either"
    return "qk" if of_scores else "av" if of_values else ""


def _shapes(text: str) -> Shapes:
    """The tensors' shapes in a cell such as "8 x 16 x 4; 8 x 4 x 16"."""
    found = [each.split(" x ") for each in text.split("; ")]
    return [list(map(int, sizes)) for sizes in found if all(map(str.isdigit, sizes))]


def _of_softmax(shapes: Shapes) -> int:
    return SOFTMAX_FLOPS * prod(shapes[0])


def _of_product(shapes: Shapes) -> int:
    return 2 * prod(shapes[-2]) * shapes[-1][-1]


def _flops(rows: pd.DataFrame, of_call: Callable[[Shapes], int]) -> Value | None:
    """FLOPs per step; a call may have several kernels, of which each has a row."""
    calls = rows.groupby(["path", "operator", "shapes", "dtypes"])["calls_per_step"].max()
    shapes = calls.index.get_level_values("shapes")
    number = sum(count * of_call(_shapes(each)) for count, each in zip(calls, shapes, strict=True))
    return value(number, "flops", rows_of("operators", rows), formula="by shapes")


def ms_of(rows: pd.DataFrame) -> Value | None:
    """The device time (ms) per step of rows of operators.csv."""
    ms = rows["busy_ms_per_step"].sum()
    return value(ms, "ms", rows_of("operators", rows), formula="sum over operators")
