"""Device work that only lays data out anew, or that another kernel would undo."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import NUMBER, Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.group_norms import copies_ns, layout_copies
from workflow_src.diagnosis.parts import passes
from workflow_src.diagnosis.sequences import in_lanes, of_work, runs

CONVERSION = r"(?i)nchwToNhwc|nhwcToNchw"
"""Kernels by which cuDNN lays images out anew for a convolution and back."""

BATCH_NORM = r"(?i)batch_?norm|bn_(?:fw|bw)"
WORKSPACE = r"(?i)workspace"
BOOKKEEPING = 0.1
"""What takes less than so much of a batch norm's kernel is no pass over its images."""

OUT_OF_LINE = 1.5
"""A layer copies more than its sisters if it does so much more of it than their median."""

LIKE = 3
"""At least so many layers are alike, or none is out of line."""


def _dropped(subject: Subject, work: pd.DataFrame) -> list[Found]:
    """Some work as one place, without it and its launches."""
    if not len(work):
        return []
    calls = work["call"].drop_duplicates().to_numpy()
    # Of calls that launch other work, too, such as graphs, the work alone goes.
    several = subject.work["call"].duplicated(keep=False)[work.index]
    alone = calls[~np.isin(calls, work.loc[several, "call"])]
    change = Edit(alone, rows_of(work[several]), cost=0, drops=True, factor=0.0)
    return [of_work(subject, work, change)]


@mechanism("convolution_layout")
def find_convolution_layout(subject: Subject) -> list[Found]:
    """Kernels that turn images from one layout into the other around convolutions.

    Copies that norms over groups would need instead take the place of as much of them.
    """
    turned = subject.work[matching(subject.work["name"], CONVERSION)]
    come_ns = copies_ns(subject)
    if not come_ns or not len(turned):
        return _dropped(subject, turned)
    stays = min(come_ns / float(turned["device_ns"].sum()), 1.0)
    return [of_work(subject, turned, Edit(work=rows_of(turned), factor=stays))]


@mechanism("norm_layout")
def find_norm_layout(subject: Subject) -> list[Found]:
    """Copies between convolutions in channels_last and norms over groups, which are contiguous."""
    return _dropped(subject, layout_copies(subject))


@mechanism("layer_copies")
def find_layer_copies(subject: Subject) -> list[Found]:
    """Copies on the device in one layer that the others, alike but for their number, lack."""
    copies = subject.work[(subject.work["family"] == "copy") & (subject.work["kind"] == "kernel")]
    paths = subject.work["path_text"].drop_duplicates()
    layers = paths[paths.str.contains(NUMBER)]
    spent = copies.groupby("path_text")["device_ns"].sum().reindex(layers, fill_value=0)
    kinds = spent.groupby(spent.index.str.replace(NUMBER, "*", regex=True))
    usual = kinds.transform("median")
    more = spent[(kinds.transform("size") >= LIKE) & (spent > OUT_OF_LINE * usual)]
    found = []
    for path in more.index:
        rows = copies[copies["path_text"] == path]
        change = Edit(work=rows_of(rows), factor=float(usual[path] / more[path]))
        found.append(subject.found(str(path), len(rows), (change,), 0, more[path]))
    return found


@mechanism("bias_before_batch_norm")
def find_bias_before_batch_norm(subject: Subject) -> list[Found]:
    """A bias added between a product and batch norm, which takes it off again; and its gradient.

    The bias's gradient, a sum behind batch norm's backward kernels and the products between, tells
    it from other additions. Counters, fills and workspaces between don't count.
    """
    work = _large_beside_norms(in_lanes(subject))
    norm = matching(work["name"], BATCH_NORM)
    product = work["family"].isin(("gemm", "convolution")).to_numpy()
    after_product, before_norm = np.append(False, product[:-1]), np.append(norm[1:], False)
    biases = (work["family"] == "elementwise").to_numpy() & after_product & before_norm
    # Of a sum, the nearest work before it that is no product.
    last_norm = pd.Series(norm, work.index).where(~product).ffill().shift(fill_value=False)
    sums = (work["family"] == "reduction").to_numpy() & last_norm.eq(True).to_numpy()
    if not sums.any() or not biases.any():
        return []
    return _dropped(subject, work[biases | sums])


def _large_beside_norms(work: pd.DataFrame) -> pd.DataFrame:
    """Batch norms, and all but workspaces that takes a share of the usual one of them."""
    norm = matching(work["name"], BATCH_NORM)
    least = BOOKKEEPING * work.loc[norm, "device_ns"].median() if norm.any() else 0.0
    return work[norm | ((work["device_ns"] >= least) & ~matching(work["name"], WORKSPACE))]


@mechanism("weights_cast_again")
def find_weights_cast_again(subject: Subject) -> list[Found]:
    """Weights cast for products in each of a step's micro batches, though they change once a step.

    Of neighboring casts before a product the last is of its input, the others of its weights; where
    there are such, a cast that stands alone before a product is of its weights. Launches stay.
    """
    work = in_lanes(subject)
    work = work[work["kind"] == "kernel"]
    if work.empty:
        return []
    number = runs((work["family"] == "cast").to_numpy(), work["breaks"].to_numpy())
    before_product = np.append((work["family"] == "gemm").to_numpy()[1:], False)
    casts = work.assign(run=number, is_last=before_product)[number >= 0]
    casts = casts[casts.groupby("run")["is_last"].transform("any")]
    several = casts.groupby("run")["run"].transform("size") > 1
    weights = casts[(several & ~casts["is_last"]) | ~several]
    weights = weights[weights["path"].isin(casts.loc[several, "path"])]
    if not len(weights):
        return []
    again = passes(subject, weights).query("nth > 0")
    return [of_work(subject, again, Edit(work=rows_of(again), factor=0.0))] if len(again) else []
