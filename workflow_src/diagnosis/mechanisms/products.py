"""Products and other arithmetic in a slower kind than the rest of the step's."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.precisions import NARROW
from workflow_src.diagnosis.attention_chains import attention_chains
from workflow_src.diagnosis.card_rates import Times, card_of, multiplies_in, times_on
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import MOST, NUMBER, Finding, Subject, kind, main_place, rows_of
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

ONE_SIZE = 1.5
"""Products are of one size if of their times the upper quartile is at most so many times the
lower."""

BY_VECTOR = r"gemv|gevv|dot_kernel|reduce_1Block"
"""Products with vectors, which read more than they compute."""

DOUBLE = r"\bdouble\b"
FROM_ANY = r"direct_copy"
"""Casts from other types than float32."""

WIDE_FAMILIES = ("elementwise", "cast", "copy", "reduction", "softmax")

BY_PRECISION = {
    "tf32": "float32_products",
    "bf16": "float32_products_16_bits",
    "fp16": "float32_products_fp16",
}
"""By the widest precision by which products of float32 numbers may gain on a card."""


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
    What torch's math backend of attention computes beside such is a finding of its own.
    """
    card = card_of(subject)
    faster = [key for each, key in BY_PRECISION.items() if multiplies_in(card, each) is not False]
    products, times = _products(subject, "gemm", "convolution"), times_on(card)
    precision = _usual_precision(products, times)
    if precision in NARROW:
        chains = attention_chains(subject)
        products = products[~products.index.isin(chains.index[chains["by_math"]])]
    ordinary = products.index[products["precision"] == "fp32"]
    plain = pd.Series(times.get(precision, 1.0) / times["fp32"], index=ordinary)
    factor = pd.concat([plain, _beside_narrow(subject, products, times)]).sort_index()
    slow = products.loc[factor.index]
    if faster and len(slow):
        # Forward's ranges name layers, where there are any; backward's often don't.
        layers = slow[slow["path_text"].str.contains(NUMBER, regex=True)]
        where = main_place(layers if len(layers) else slow)
        edit = Edit(work=rows_of(slow), factor=np.asarray(factor, np.float64))
        yield subject.found(faster[0], slow, edit, where=where)


def as_narrow(subject: Subject, products: pd.DataFrame) -> "pd.Series[float]":
    """What some products in float32 take of their time in 16 bits, where most others are in these.

    1 of all other products, and where most are wider.
    """
    times = times_on(card_of(subject))
    usual = _usual_precision(_products(subject, "gemm"), times)
    ordinary = precision_ran(products["name"], products["family"]) == "fp32"
    factor = times.get(usual, 1.0) / times["fp32"] if usual in NARROW else 1.0
    return ordinary.map({True: factor, False: 1.0}).astype(float)


def _beside_narrow(subject: Subject, products: pd.DataFrame, times: Times) -> "pd.Series[float]":
    """By row of products in TF32 beside others of their kind in 16 bits, what they take as these.

    As the others do, where layers alike have both and each are of one size; else half.
    """
    operation = products["name"].str.extract(OPERATION, expand=False).str.lower().fillna("")
    layer = products["path_text"].str.replace(NUMBER, "*", regex=True)
    products = products.assign(operation=operation, layer=layer)
    narrow = products[products["precision"].isin(NARROW)]
    wide = products[products["precision"] == "tf32"].reset_index(names="row")
    wide = wide.merge(narrow[KIND].drop_duplicates()).set_index("row")
    if len(wide) <= HEAD * subject.step_count:
        return pd.Series(dtype=float)
    sisters = any("*" in name for name in set(wide["layer"]) & set(narrow["layer"]))
    ratio = (_one_size_ns(narrow) / _one_size_ns(wide)).clip(upper=1.0)
    own = wide[KIND].merge(ratio.rename("own").reset_index(), how="left")["own"].to_numpy()
    usual = times["fp16"] / times.get("tf32", times["fp32"])
    return pd.Series(np.where(sisters & ~np.isnan(own), own, usual), index=wide.index)


def _one_size_ns(products: pd.DataFrame) -> "pd.Series[float]":
    """The usual time (ns) of products of each kind; nan where they aren't of one size."""
    times = products.groupby(KIND)["device_ns"]
    alike = times.quantile(0.75) <= ONE_SIZE * times.quantile(0.25)
    return times.median().where(alike)


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
        yield subject.found("unaligned_products", slow, edit)


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
    yield subject.found("float64", slow, shorter, gone)
