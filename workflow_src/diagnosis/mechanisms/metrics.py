"""Work of forward that no backward pass follows, outside of whole passes: metrics of each step."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Mask
from workflow_src.diagnosis.finding import Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.mechanisms.repeats import dropped, needless_passes
from workflow_src.diagnosis.passes import own_launches, runs
from workflow_src.diagnosis.sequences import runs as neighboring

SOFTMAX, BACKWARD = r"cunn_\w*SoftMax|softmax_warp_", r"(?i)softmax_?(?:warp_)?backward"
"""PyTorch's kernels of softmax and its logarithm, and those of their gradients. A compiler's are of
parts of one, and tell nothing."""

LOGARITHM = r"LogSoftMax|softmax_warp_\w+<(?:[^,]+, ?){3}(?:\(int\))?\d+, ?(?:\(bool\)1|true)"
"""Such kernels of a logarithm: what they do last, or the argument of their template."""

CHOICE = r"ArgMaxOps|ArgMinOps|gatherTopK"
"""Kernels that choose the largest or smallest, of which there are no gradients."""

ARITHMETIC = ("softmax", "loss", "elementwise", "cast", "reduction", "indexing", "copy")
"""Families of kernels that metrics are computed by."""

LAST = 8
"""At most so many launches after the last softmax or choice are of the same metrics."""

MOSTLY = 0.5
"""What comes in more than this share of the steps comes in each; else it may be an evaluation."""


@mechanism("metrics")
def find_metrics(subject: Subject) -> list[Found]:
    """Softmaxes beyond those that backward has gradients of, and choices, after the last product.

    With what comes directly before the first, in between, and shortly after the last of them.
    """
    calls = _after_products(subject)
    begun = _without_gradient(subject, calls)
    calls["begins"] = begun
    if calls.loc[begun, "step"].nunique() <= MOSTLY * subject.step_count:
        return []
    own = calls["family"].isin(ARITHMETIC).to_numpy() & ~_of_loss(calls)
    elsewhere = calls[["path_text", "step", "after"]]
    breaks = (elsewhere != elsewhere.shift()).any(axis=1).to_numpy()
    calls["segment"] = neighboring(own, breaks)
    parts = [each for n, each in calls.groupby("segment") if n != NOWHERE and each["begins"].any()]
    return [dropped(subject, np.concatenate([_extent(each) for each in parts]))] if parts else []


def _after_products(subject: Subject) -> pd.DataFrame:
    """The loop's launches after forward's last product, of passes that backward follows.

    To the next forward's first product. after: which pass it comes after. Steps with a forward pass
    that has no backward are left out: their softmaxes may be of that.
    """
    calls, every = own_launches(subject, True), runs(subject)
    ends = [int(each.calls[-1]) for each in every if each.forward]
    first = [int(each.calls[0]) for each in every if each.forward]
    rows = calls.index.to_numpy()
    after = np.searchsorted(ends, rows) - 1
    inside = np.searchsorted(first, rows, side="right") - 1 > after
    steps = subject.calls["step"].reindex(
        [call for span in needless_passes(subject) for call in span]
    )
    kept = (after >= 0) & ~inside & ~calls["step"].isin(steps).to_numpy() & (calls["step"] >= 0)
    return calls.assign(after=after)[kept]


def _without_gradient(subject: Subject, calls: pd.DataFrame) -> Mask:
    """Which calls launch a choice, or one of so many last softmaxes as have no gradient.

    Of softmax and its logarithm apart, and of both together.
    """
    own = subject.own[matching(subject.own["launched"], SOFTMAX)]
    own = own.assign(
        logarithm=matching(own["launched"], LOGARITHM),
        backward=matching(own["launched"], BACKWARD),
    )
    own = own[own["backward"] | (own["thread"] == subject.loop_thread)]
    own["beyond"] = 1 - 2 * own["backward"]
    softmaxes = own[own.index.isin(calls.index)]
    few = np.ones(len(softmaxes), dtype=bool)
    for keys in (["step", "logarithm"], ["step"]):
        beyond = own.groupby(keys)["beyond"].transform("sum")[softmaxes.index]
        last = softmaxes[few][::-1].groupby(keys).cumcount().reindex(softmaxes.index)
        few &= (last < beyond).to_numpy()
    return matching(calls["launched"], CHOICE) | calls.index.isin(softmaxes.index[few])


def _of_loss(calls: pd.DataFrame) -> Mask:
    """Which launches are of a loss: softmaxes with a gradient, what comes before, and the rest."""
    softmax = matching(calls["launched"], SOFTMAX)
    loss = (softmax | (calls["family"] == "loss").to_numpy()) & ~calls["begins"].to_numpy()
    before = np.append((loss & softmax)[1:], False) & ~calls["begins"].to_numpy()
    found: Mask = loss | before
    return found


def _extent(segment: pd.DataFrame) -> "np.typing.NDArray[np.int64]":
    """The launches of metrics among neighboring ones."""
    at = np.flatnonzero(segment["begins"])
    return rows_of(segment.iloc[max(at[0] - 1, 0) : at[-1] + 1 + LAST])
