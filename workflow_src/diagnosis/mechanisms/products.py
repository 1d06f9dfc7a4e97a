"""Products and other arithmetic in a slower kind than the rest of the step's."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.precisions import NARROW
from workflow_src.diagnosis.card_rates import Times, card_of, times_on
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Finding, found, kind
from workflow_src.diagnosis.subject import MOST, NUMBER, Subject, main_place, rows_of
from workflow_src.placing.kernel_names import precision_ran

UNALIGNED = {1: 6.5, 2: 3.2, 4: 3.2}
"""How many times as long a bf16 product takes if its rows are aligned to so many elements. 1: 6.4
and 6.7 in two models on H200s, 8.0 to 8.9 alone; 2 and 4: 3.1 to 3.4 in three products alone
(product_kinds.py: benchmarks/README.md)."""

FULL = {"bf16": 8, "fp16": 8, "tf32": 4}
"""Elements of 16 bytes, to which rows should be aligned."""

ALIGNED = r"align[aA]?(\d+)"
CONVOLUTION = r"fprop|dgrad|wgrad|conv"
OPERATION = r"(?i)(fprop|dgrad|wgrad)"
KIND = ["family", "operation"]

HEAD = 3
"""Products of a head or a loss, which many keep in float32: one of forward, two of backward. So
many a step in TF32 are no part of the model that autocast was forgotten for."""

BY_VECTOR = r"gemv|gevv|dot_kernel|reduce_1Block"
"""Products with vectors, which read more than they compute."""

DOUBLE = r"\bdouble\b"
FROM_ANY = r"direct_copy"
"""Casts from other types than float32."""

WIDE_FAMILIES = ("elementwise", "cast", "copy", "reduction", "softmax")


def _products(subject: Subject, *families: str) -> pd.DataFrame:
    """The products of matrices among the work, with the `precision` that their names tell."""
    products = subject.work[subject.work["family"].isin(families)]
    products = products[~matching(products["name"], BY_VECTOR)]
    return products.assign(precision=precision_ran(products["name"], products["family"]))


def _usual_precision(products: pd.DataFrame, times: Times) -> str:
    """The precision of most products that are faster than fp32; if there are none, tf32.

    Where that gains nothing, 16 bits.
    """
    faster = products.loc[products["precision"].isin(["tf32", "bf16", "fp16", "fp8"]), "precision"]
    if len(faster):
        return str(faster.value_counts().index[0])
    return "tf32" if times.get("tf32", times["fp32"]) < times["fp32"] else "fp16"


@kind
def float32_products(subject: Subject) -> Iterator[Finding]:
    """Products, also of convolutions, of float32 numbers; without it, as most others are.

    On the ordinary cores all of them; in TF32, those beside products of their kind in 16 bits.
    """
    products = _products(subject, "gemm", "convolution")
    times = times_on(card_of(subject))
    precision = _usual_precision(products, times)
    ordinary = products.index[products["precision"] == "fp32"]
    plain = pd.Series(times.get(precision, 1.0) / times["fp32"], index=ordinary)
    factor = pd.concat([plain, _beside_narrow(subject, products, times)]).sort_index()
    slow = products.loc[factor.index]
    if (factor < 1).any():
        # Forward's ranges name layers, where there are any; backward's often don't.
        layers = slow[slow["path_text"].str.contains(NUMBER, regex=True)]
        where = main_place(layers if len(layers) else slow)
        edit = Edit(work=rows_of(slow), factor=np.asarray(factor, np.float64))
        yield found(subject, "float32_products", slow, edit, where=where)


def _beside_narrow(subject: Subject, products: pd.DataFrame, times: Times) -> "pd.Series[float]":
    """By row of products in TF32 beside others of their kind in 16 bits, what they take as these.

    Sizes may differ, so that it is not the others' time.
    """
    operation = products["name"].str.extract(OPERATION, expand=False).str.lower().fillna("")
    products = products.assign(operation=operation)
    narrow = products.loc[products["precision"].isin(NARROW), KIND].drop_duplicates()
    wide = products[products["precision"] == "tf32"].reset_index(names="row").merge(narrow)
    few = len(wide) <= HEAD * subject.step_count
    left = times["fp16"] / times.get("tf32", times["fp32"])
    return pd.Series(left, index=[] if few else wide["row"], dtype=float)


@kind
def unaligned_products(subject: Subject) -> Iterator[Finding]:
    """Products whose kernels load single elements: a size isn't a multiple of 16 bytes."""
    products = _products(subject, "gemm")
    products = products[~matching(products["name"], CONVOLUTION)]
    elements = products["name"].astype(object).str.extract(ALIGNED, expand=False).astype(float)
    factor = 1 / elements.map(UNALIGNED)
    unaligned = (elements < products["precision"].map(FULL).astype(float)) & factor.notna()
    if unaligned.any():
        slow = products[unaligned]
        edit = Edit(work=rows_of(slow), factor=np.asarray(factor[unaligned], np.float64))
        yield found(subject, "unaligned_products", slow, edit)


@kind
def float64(subject: Subject) -> Iterator[Finding]:
    """Arithmetic in float64 in a step that mostly has none.

    Without it casts to and from it vanish with their launches, and kernels move as many bytes as in
    the usual type. A cast to another type directly after work in float64 names that type alone.
    """
    every = subject.work
    double = matching(every["name"], DOUBLE)
    others = every["family"].isin(WIDE_FAMILIES)
    products = _products(subject, "gemm")
    wide = (others & double) | every.index.isin(products.index[products["precision"] == "fp64"])
    computes = every.index[wide & (every["family"] != "cast")]
    before = pd.Series(every.index, every.index).groupby(every["lane"]).shift()
    casts = matching(every["name"], FROM_ANY) & (every["family"] == "cast") & ~double
    slow = every[wide | (casts & before.isin(computes))]
    if not len(slow) or len(slow) > MOST * (others.sum() + len(products)):
        return  # A program that computes most in float64 means to.
    times = times_on(card_of(subject))
    usual = _usual_precision(products, times)
    narrow = usual in set(products["precision"]) and usual != "tf32"
    product = times.get(usual if narrow else "tf32", times["fp32"]) / times["fp64"]
    factors = slow["family"].map({"cast": 0.0, "gemm": product}).astype(float)
    left = np.asarray(factors.fillna(0.25 if narrow else 0.5), np.float64)
    shorter = Edit(work=rows_of(slow), factor=left)
    # Of calls that launch other work, too, such as graphs, the work alone goes.
    calls = slow.loc[slow["alone"] & (slow["family"] == "cast"), "call"].to_numpy()
    gone = Edit(calls, gap=0, cost=0, drops=True)
    yield found(subject, "float64", slow, shorter, gone)
