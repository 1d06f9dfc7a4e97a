"""Device work that only lays data out anew, or that another kernel would undo."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Finding, found, kind
from workflow_src.diagnosis.mechanisms.fusion import in_lanes, runs, without_work
from workflow_src.diagnosis.subject import MOST, NUMBER, Subject, rows_of

CONVERSION = r"(?i)nchwToNhwc|nhwcToNchw"
"""Kernels by which cuDNN lays images out anew for a convolution and back."""

BATCH_NORM = r"(?i)batch_?norm|bn_(?:fw|bw)"
WORKSPACE = r"(?i)workspace"
BOOKKEEPING = 0.1
"""What takes less than so much of a batch norm's kernel is no pass over its images."""

APPLIED, GRADIENT = "GroupNormKernelImpl", "GroupNormBackwardKernelImpl"
"""Kernels that apply a norm over groups, and that give its input's gradient."""

GROUP_NORM = r"GroupNorm|RowwiseMoments|ComputeInternalGradients|FusedParams|GammaBetaBackward"
"""All kernels of such norms; of others only where there are no norms over groups."""

COPY_OVER = {APPLIED: 1.0, GRADIENT: 2 / 3}
"""A copy's time over that of these kernels, by bytes: the one reads and writes an image as a copy
does, the other reads two and writes one."""

AROUND = 2
"""Copies around each norm over groups in channels_last, and as many around each gradient: PyTorch's
kernels of such norms know contiguous images alone, those of its batch norms both layouts."""

BESIDE = ("elementwise", "cast", "copy", "fill")
"""Families of kernels between a convolution and a norm."""

OUT_OF_LINE = 1.5
"""A layer copies more than its sisters if it does so much more of it than their median."""

LIKE = 3
"""At least so many layers are alike, or none is out of line."""


@kind
def convolution_layout(subject: Subject) -> Iterator[Finding]:
    """Kernels that turn images from one layout into the other around convolutions.

    Copies that norms over groups would need instead take the place of as much of them.
    """
    work = subject.work
    turned = work[matching(work["name"], CONVERSION)]
    come_ns = AROUND * sum(
        share * float(work.loc[matching(work["name"], name), "device_ns"].sum())
        for name, share in COPY_OVER.items()
    )
    if len(turned):
        stays = min(come_ns / float(turned["device_ns"].sum()), 1.0)
        yield without_work(subject, "convolution_layout", turned, stays)


@kind
def norm_layout(subject: Subject) -> Iterator[Finding]:
    """Copies between convolutions in channels_last and norms over groups, which are contiguous.

    None if most norms have no copy just before them: then their layout is that of all.
    """
    work = in_lanes(subject)
    family, norm = work["family"], matching(work["name"], GROUP_NORM)
    copies = ((family == "copy") & (work["kind"] == "kernel")).to_numpy()
    begins = norm & ~np.append(False, norm[:-1])
    copied = copies & np.append(begins[1:], False)
    if not matching(work["name"], APPLIED).any() or copied.sum() < MOST * begins.sum():
        return
    members = family.isin(BESIDE).to_numpy() & ~norm
    number = runs(members, work["breaks"].to_numpy())
    # What comes before and after each run of members; a run ends where a lane does.
    ends = np.where(norm, 1, np.where(family == "convolution", -1, 0))
    before = pd.Series(np.append(0, ends[:-1])).groupby(number).first()
    after = pd.Series(np.append(ends[1:], 0)).groupby(number).last()
    between = before.index[before * after == -1]
    rows = work[copies & np.isin(number, between) & members]
    if len(rows):
        yield without_work(subject, "norm_layout", rows)


@kind
def layer_copies(subject: Subject) -> Iterator[Finding]:
    """Copies on the device in one layer that the others, alike but for their number, lack."""
    copies = subject.work[(subject.work["family"] == "copy") & (subject.work["kind"] == "kernel")]
    paths = subject.work["path_text"].drop_duplicates()
    layers = paths[paths.str.contains(NUMBER)]
    spent = copies.groupby("path_text")["device_ns"].sum().reindex(layers, fill_value=0)
    kinds = spent.groupby(spent.index.str.replace(NUMBER, "*", regex=True))
    usual = kinds.transform("median")
    more = spent[(kinds.transform("size") >= LIKE) & (spent > OUT_OF_LINE * usual)]
    for path in more.index:
        rows = copies[copies["path_text"] == path]
        edit = Edit(work=rows_of(rows), factor=float(usual[path] / more[path]))
        yield found(subject, "layer_copies", rows, edit)


@kind
def bias_before_batch_norm(subject: Subject) -> Iterator[Finding]:
    """A bias added between a product and batch norm, which takes it off again; and its gradient.

    The bias's gradient, a sum behind batch norm's backward kernels and the products between, tells
    it from other additions. Counters, fills and workspaces between don't count: of all but batch
    norms only what takes a share of the usual one of them does.
    """
    work = in_lanes(subject)
    norm = matching(work["name"], BATCH_NORM)
    if not norm.any():
        return
    least = BOOKKEEPING * work.loc[norm, "device_ns"].median()
    large = (work["device_ns"] >= least) & ~matching(work["name"], WORKSPACE)
    work, norm = work[norm | large], norm[norm | large]
    product = work["family"].isin(("gemm", "convolution")).to_numpy()
    after_product, before_norm = np.append(False, product[:-1]), np.append(norm[1:], False)
    biases = (work["family"] == "elementwise").to_numpy() & after_product & before_norm
    # Of a sum, the nearest work before it that is no product.
    last_norm = pd.Series(norm, work.index).where(~product).ffill().shift(fill_value=False)
    sums = (work["family"] == "reduction").to_numpy() & last_norm.eq(True).to_numpy()
    if sums.any() and biases.any():
        yield without_work(subject, "bias_before_batch_norm", work[biases | sums])
