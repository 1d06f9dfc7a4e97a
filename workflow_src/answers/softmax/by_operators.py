"""Softmax and attention's products without ranges of their own: told apart by operators and shapes.

For brought models, whose attention is one module: softmax runs between two batched products in it.
"""

from dataclasses import dataclass
from math import prod

import pandas as pd

from workflow_src.common.operators import CALLING_SOFTMAX, PRODUCTS, SOFTMAX, SOFTMAX_FLOPS
from workflow_src.paper.value import Value, rows_of, value

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
        return flop_ratio(self.scores, self.values)


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
    softmax = operators[operators["operator"].isin([SOFTMAX, CALLING_SOFTMAX])]
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


def flop_ratio(scores: pd.DataFrame, values: pd.DataFrame) -> Value | None:
    """Softmax's FLOPs over both products', given rows of operators.csv around either.

    Softmax takes SOFTMAX_FLOPS for each element of QK^T, however it is written. None without
    products in both.
    """
    qk, av = (_calls(rows[rows["operator"].isin(PRODUCTS)]) for rows in (scores, values))
    if not qk or not av:
        return None
    softmax = SOFTMAX_FLOPS * sum(calls * prod(_sizes(shapes)[:-1]) for shapes, calls in qk.items())
    products = sum(2 * calls * prod(_sizes(shapes)) for shapes, calls in (*qk.items(), *av.items()))
    rows = rows_of("operators", pd.concat([scores, values]))
    return value(softmax / products, "times", rows, formula="FLOPs of softmax / (QK^T + AV)")


def _calls(products: pd.DataFrame) -> dict[str, float]:
    """Calls per step by shapes; a call may have several kernels, of which each has a row."""
    calls = products.groupby(["path", "operator", "shapes", "dtypes"])["calls_per_step"].max()
    sums = calls.groupby("shapes").sum()
    return {str(shapes): float(each) for shapes, each in sums.items()}


def _sizes(shapes: str) -> list[int]:
    """The matrices of a product, its m, n and k."""
    first, second = _shapes(shapes)[-2:]
    return [*first[:-1], second[-1], first[-1]]


def ms_of(rows: pd.DataFrame) -> Value | None:
    """The device time (ms) per step of rows of operators.csv."""
    ms = rows["busy_ms_per_step"].sum()
    return value(ms, "ms", rows_of("operators", rows), formula="sum over operators")
