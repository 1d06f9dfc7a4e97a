"""Products and other arithmetic in a slower kind than the rest of the step's."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.common.precisions import NARROW
from workflow_src.diagnosis.attention_chains import attention_chains
from workflow_src.diagnosis.changes import DropCall, DropGap, ScaleWork
from workflow_src.diagnosis.finding import NUMBER, Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.sequences import main_place, of_work
from workflow_src.placing.kernel_names import precision_ran

TIMES = {"bf16": 1.0, "fp16": 1.0, "fp8": 0.5, "tf32": 2.0, "fp32": 15.0, "fp64": 13.0}
"""How long a large product takes, in bf16's time. fp32: the median of 768 products of an H100
(examples/h100, products.csv). Three products each on an H200 (benchmarks/product_kinds.py) took
tf32 1.9 to 2.0, fp32 14.3 to 15.6 and fp64 12.3 to 13.0; fp8 is by the datasheet."""

UNALIGNED = {1: 6.5, 2: 3.2, 4: 3.2}
"""How many times as long a bf16 product takes if its rows are aligned to so many elements. 1: 6.4
and 6.7 in two models on H200s, 8.0 to 8.9 alone; 2 and 4: 3.1 to 3.4 in three products alone
(benchmarks/product_kinds.py)."""

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
MEANT = 0.5
"""A program of whose kernels so many compute in float64 means to."""


def _products(subject: Subject, families: tuple[str, ...] = ("gemm",)) -> pd.DataFrame:
    """The products of matrices among the work, with the `precision` that their names tell."""
    products = subject.work[subject.work["family"].isin(families)]
    products = products[~products["name"].str.contains(BY_VECTOR, regex=True)]
    return products.assign(precision=precision_ran(products["name"], products["family"]))


def _usual_precision(products: pd.DataFrame) -> str:
    """The precision of most products that are faster than fp32; tf32 if there are none."""
    faster = products.loc[products["precision"].isin(["tf32", "bf16", "fp16", "fp8"]), "precision"]
    return str(faster.value_counts().index[0]) if len(faster) else "tf32"


def _faster(subject: Subject, work: pd.DataFrame, factor: float | pd.Series) -> list[Found]:
    """Some work as one place, which would take `factor` of its time (one, or one for each)."""
    share = np.broadcast_to(np.asarray(factor, dtype=np.float64), len(work))
    return [of_work(subject, work, ScaleWork(rows_of(work), share))] if len(work) else []


@mechanism("float32_products")
def find_float32_products(subject: Subject) -> list[Found]:
    """Products, also of convolutions, of float32 numbers; without it, as most others are.

    On the ordinary cores all of them; in TF32, those beside products of their kind in 16 bits.
    What torch's math backend of attention computes beside such is a finding of its own.
    """
    products = _products(subject, ("gemm", "convolution"))
    precision = _usual_precision(products)
    if precision in NARROW:
        chains = subject.cached(attention_chains)
        products = products[~products.index.isin(chains.index[chains["by_math"]])]
    usual = TIMES[precision]
    ordinary = products.index[products["precision"] == "fp32"]
    plain = pd.Series(usual / TIMES["fp32"], index=ordinary)
    factor = pd.concat([plain, _beside_narrow(subject, products)]).sort_index()
    slow = products.loc[factor.index]
    # Forward's ranges name layers, where there are any; backward's often don't.
    layers = slow[slow["path_text"].str.contains(NUMBER, regex=True)]
    found = _faster(subject, slow, factor)
    return [replace(each, where=main_place(layers)) for each in found] if len(layers) else found


def as_narrow(subject: Subject, products: pd.DataFrame) -> "pd.Series[float]":
    """What some products in float32 take of their time in 16 bits, where most others are in these.

    1 of all other products, and where most are wider.
    """
    usual = _usual_precision(_products(subject))
    ordinary = precision_ran(products["name"], products["family"]) == "fp32"
    factor = TIMES[usual] / TIMES["fp32"] if usual in NARROW else 1.0
    return ordinary.map({True: factor, False: 1.0}).astype(float)


def _beside_narrow(subject: Subject, products: pd.DataFrame) -> "pd.Series[float]":
    """By row of products in TF32 beside others of their kind in 16 bits, what they take as these.

    As the others do, where layers alike have both and each are of one size; else half.
    """
    operation = products["name"].str.extract(OPERATION, expand=False).str.lower().fillna("")
    layer = products["path_text"].str.replace(NUMBER, "*", regex=True)
    products = products.assign(operation=operation, layer=layer)
    narrow = products[products["precision"].isin(NARROW)]
    wide = products[products["precision"] == "tf32"].reset_index(names="row")
    wide = wide.merge(narrow[KIND].drop_duplicates()).set_index("row")
    if subject.a_step(len(wide)) <= HEAD:
        return pd.Series(dtype=float)
    both = set(wide["layer"]) & set(narrow["layer"])
    sisters = any("*" in name for name in both)
    ratio = (_one_size_ns(narrow) / _one_size_ns(wide)).clip(upper=1.0)
    own = wide[KIND].merge(ratio.rename("own").reset_index(), how="left")["own"].to_numpy()
    usual = TIMES["bf16"] / TIMES["tf32"]
    return pd.Series(np.where(sisters & ~np.isnan(own), own, usual), index=wide.index)


def _one_size_ns(products: pd.DataFrame) -> "pd.Series[float]":
    """The usual time (ns) of products of each kind; nan where they aren't of one size."""
    times = products.groupby(KIND)["device_ns"]
    alike = times.quantile(0.75) <= ONE_SIZE * times.quantile(0.25)
    return times.median().where(alike)


@mechanism("unaligned_products")
def find_unaligned_products(subject: Subject) -> list[Found]:
    """Products whose kernels load single elements: a size isn't a multiple of 16 bytes."""
    products = _products(subject)
    products = products[~products["name"].str.contains(CONVOLUTION, regex=True).astype(bool)]
    if products.empty:
        return []
    elements = products["name"].str.extract(ALIGNED, expand=False).astype(float)
    unaligned = elements < products["precision"].map(FULL)
    factor = 1 / elements.map(UNALIGNED)
    slow = products[unaligned & factor.notna()]
    return _faster(subject, slow, factor[slow.index])


def _casts_after(subject: Subject, *wide: pd.DataFrame) -> pd.DataFrame:
    """The casts to other types directly after work in float64: their names tell the result's."""
    work = subject.work
    computes = pd.concat(wide).query("family != 'cast'").index
    before = pd.Series(work.index, work.index).groupby(work["lane"]).shift()
    casts = work["name"].str.contains(FROM_ANY, regex=True) & (work["family"] == "cast")
    return work[casts & before.isin(computes) & ~work["name"].str.contains(DOUBLE, regex=True)]


@mechanism("float64")
def find_float64(subject: Subject) -> list[Found]:
    """Arithmetic in float64 in a step that mostly has none.

    Without it casts to and from it vanish with their launches, and kernels move as many bytes as in
    the usual type.
    """
    work = subject.work[subject.work["family"].isin(WIDE_FAMILIES)]
    wide = work[work["name"].str.contains(DOUBLE, regex=True)]
    products = _products(subject)
    wide_products = products[products["precision"] == "fp64"].drop(columns="precision")
    slow = pd.concat([wide, wide_products, _casts_after(subject, wide, wide_products)])
    if not len(slow) or len(slow) > MEANT * (len(work) + len(products)):
        return []
    usual = _usual_precision(products)
    factors = slow["family"].map({"cast": 0.0, "gemm": TIMES[usual] / TIMES["fp64"]})
    found = _faster(subject, slow, factors.astype(float).fillna(0.5 if usual == "tf32" else 0.25))
    # Of calls that launch other work, too, such as graphs, the work alone goes.
    alone = ~subject.work["call"].duplicated(keep=False)[slow.index]
    calls = slow.loc[alone & (slow["family"] == "cast"), "call"].to_numpy()
    gone = (DropCall(calls), DropGap(calls)) if len(calls) else ()
    return [replace(each, changes=(*each.changes, *gone)) for each in found]
