"""Products and other arithmetic in a slower kind than the rest's, or of data laid out otherwise."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.precisions import NARROW
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.recording import Edit
from workflow_src.diagnosis.subject import MOST, NUMBER, Subject, main_place, rows_of
from workflow_src.placing.kernel_names import precision_ran

Rates = tuple[float, float, float]
"""How many times as fast as in fp32 a large product is in TF32, 16 bits and fp64."""

RATES: Mapping[tuple[int, int], Rates] = {
    (7, 0): (1, 8, 1), (7, 5): (1, 4, 1), (8, 0): (8, 16, 1), (8, 6): (1, 2, 1),
    (8, 9): (1, 2, 1), (9, 0): (7.5, 15, 15 / 13), (10, 0): (13, 28, 1), (10, 3): (13, 28, 1),
    (12, 0): (1, 2, 1),
}  # fmt: skip
"""At least, by compute capability: the least of the dense rates of NVIDIA's datasheets (V100; T4,
RTX 2080 Ti; A100; A10, RTX 3090; L4, RTX 4090; B200, B300; RTX 5090). Hopper's 15 is the median of
768 products of an H100 (examples/h100). On an H200 (product_kinds.py:
benchmarks/README.md) three products each took tf32 1.9 to 2.0, fp32 14.3 to 15.6 and fp64 12.3 to
13.0 times as long as 16 bits."""

LEAST, NONE = (1.0, 2.0, 1.0), (1.0, 1.0, 1.0)
"""Of any card with tensor cores, such as all AMD Instinct, and with none."""

UNALIGNED = {1: 6.5, 2: 3.2, 4: 3.2}
"""Times as long as a bf16 product takes if its rows are aligned to so many elements. 1: 6.4 and 6.7
in two models on H200s, 8.0 to 8.9 alone; 2 and 4: 3.1 to 3.4 in three alone (product_kinds.py:
benchmarks/README.md)."""

FULL = {"bf16": 8, "fp16": 8, "tf32": 4}
"""Elements of 16 bytes."""

ALIGNED = r"align[aA]?(\d+)"

BY_VECTOR = r"gemv|gevv|dot_kernel|reduce_1Block"
"""Products with vectors, which read more than they compute."""

DOUBLE = r"\bdouble\b"
FROM_ANY = r"direct_copy"
"""Casts from other types than float32."""

WIDE_FAMILIES = ("elementwise", "cast", "copy", "reduction", "softmax")

CONVERSION = r"(?i)nchwToNhwc|nhwcToNchw"
"""cuDNN's, from one layout of images to the other and back."""

NORM_OVER_GROUPS = "GroupNorm(?:Backward)?KernelImpl"
"""PyTorch's kernels of such norms know contiguous images alone: in channels_last there are copies
around each."""


def _rates(subject: Subject) -> Rates:
    """What a capture's card gains."""
    card = subject.attributed.capture.recording.card
    capability = card.capability if card else None
    other = LEAST if not capability or capability > min(RATES) else NONE
    return RATES.get(capability or (0, 0), other)


def _products(subject: Subject, *families: str) -> pd.DataFrame:
    """The products of matrices, with the `precision` that their names tell."""
    products = subject.work[subject.work["family"].isin(families)]
    products = products[~matching(products["name"], BY_VECTOR)]
    return products.assign(precision=precision_ran(products["name"], products["family"]))


def _mostly_narrow(products: pd.DataFrame) -> bool:
    faster = products.loc[products["precision"].isin(["tf32", *NARROW]), "precision"]
    return bool((faster != "tf32").mean() > MOST)


def float32_products(subject: Subject) -> Iterator[Finding]:
    """Products, also of convolutions, of float32 numbers.

    They take what faster types gain, not the others' time: sizes may differ.
    """
    products, (tf32, narrow, _) = _products(subject, "gemm", "convolution"), _rates(subject)
    usual = narrow if _mostly_narrow(products) or tf32 == 1 else tf32
    slow = products[products["precision"] == "fp32"]
    if len(slow) and usual > 1:
        # Forward's ranges name layers, where there are any; backward's often don't.
        layers = slow[slow["path"].str.contains(NUMBER, regex=True)]
        where = main_place(layers if len(layers) else slow)
        edit = Edit(work=rows_of(slow), factor=1 / usual)
        yield found(subject, "float32_products", slow, edit, where=where)


def unaligned_products(subject: Subject) -> Iterator[Finding]:
    """Products whose rows aren't aligned to 16 bytes."""
    products = _products(subject, "gemm")
    elements = products["name"].astype(object).str.extract(ALIGNED, expand=False).astype(float)
    factor = 1 / elements.map(UNALIGNED)
    unaligned = (elements < products["precision"].map(FULL).astype(float)) & factor.notna()
    if unaligned.any():
        slow = products[unaligned]
        edit = Edit(work=rows_of(slow), factor=np.asarray(factor[unaligned], np.float64))
        yield found(subject, "unaligned_products", slow, edit)


def float64(subject: Subject) -> Iterator[Finding]:
    """Arithmetic in float64 in a step that mostly has none."""
    every = subject.work
    double = matching(every["name"], DOUBLE)
    others = every["family"].isin(WIDE_FAMILIES)
    products = _products(subject, "gemm")
    wide = (others & double) | every.index.isin(products.index[products["precision"] == "fp64"])
    computes = every.index[wide & (every["family"] != "cast")]
    before = pd.Series(every.index, every.index).groupby(every["lane"]).shift()
    # A cast to another type directly after work in float64 names that type alone.
    casts = matching(every["name"], FROM_ANY) & (every["family"] == "cast") & ~double
    slow = every[wide | (casts & before.isin(computes))]
    if not len(slow) or len(slow) > MOST * (others.sum() + len(products)):
        return  # A program that computes most in float64 means to.
    (tf32, narrow, fp64), to_narrow = _rates(subject), _mostly_narrow(products)
    product = fp64 / (narrow if to_narrow else tf32)
    factors = slow["family"].map({"cast": 0.0, "gemm": product}).astype(float)
    left = np.asarray(factors.fillna(0.25 if to_narrow else 0.5), np.float64)
    shorter = Edit(work=rows_of(slow), factor=left)
    # Of calls that launch other work, too, such as graphs, only the work goes.
    calls = slow.loc[slow["alone"] & (slow["family"] == "cast"), "call"].to_numpy()
    gone = Edit(calls, gap=0, cost=0, drops=True)
    yield found(subject, "float64", slow, shorter, gone)


def convolution_layout(subject: Subject) -> Iterator[Finding]:
    """Kernels that change the layout of images around convolutions."""
    work = subject.work
    turned = work[matching(work["name"], CONVERSION)]
    if len(turned) and not matching(work["name"], NORM_OVER_GROUPS).any():
        # As in float64.
        launches = Edit(turned.loc[turned["alone"], "call"].to_numpy(), cost=0, drops=True)
        gone = Edit(work=rows_of(turned), factor=0.0)
        yield found(subject, "convolution_layout", turned, gone, launches)
