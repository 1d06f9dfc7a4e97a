"""Metrics that each step computes: softmaxes and choices that no backward pass follows."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Edit, Mask
from workflow_src.diagnosis.finding import Finding, found, kind
from workflow_src.diagnosis.mechanisms.fusion import runs as neighboring
from workflow_src.diagnosis.mechanisms.passes import needless_passes, runs
from workflow_src.diagnosis.subject import MOST, Subject, common_path, rows_of

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


@kind
def metrics(subject: Subject) -> Iterator[Finding]:
    """Softmaxes beyond those that backward has gradients of, and choices, after the last product.

    With what comes directly before the first, in between, and shortly after the last of them.
    """
    calls = _after_products(subject)
    calls["begins"] = _without_gradient(subject, calls)
    if calls.loc[calls["begins"], "step"].nunique() <= MOST * subject.step_count:
        return  # It may be an evaluation.
    own = calls["family"].isin(ARITHMETIC).to_numpy() & ~_of_loss(calls)
    elsewhere = calls[["path_text", "step", "after"]]
    breaks = (elsewhere != elsewhere.shift()).any(axis=1).to_numpy()
    calls = calls.assign(segment=neighboring(own, breaks))
    rows = []
    for _, each in calls[calls["segment"] != NOWHERE].groupby("segment"):
        at = np.flatnonzero(each["begins"])
        if len(at):
            rows.append(rows_of(each.iloc[max(at[0] - 1, 0) : at[-1] + 1 + LAST]))
    if rows:
        calls = subject.calls.loc[np.concatenate(rows)]
        work = subject.work[subject.work["call"].isin(calls.index)]
        edit = Edit(rows_of(calls), gap=0, cost=0, drops=True)
        yield found(subject, "metrics", calls, edit, where=common_path(work["path_text"]))


def _after_products(subject: Subject) -> pd.DataFrame:
    """The loop's launches after forward's last product, of passes that backward follows.

    To the next forward's first product. after: which pass it comes after. Steps with a forward pass
    that has no backward are left out: their softmaxes may be of that.
    """
    calls, forward = subject.launching(True), [run for run in runs(subject) if run.forward]
    first, ends = ([int(run.calls[at]) for run in forward] for at in (0, -1))
    after = np.searchsorted(ends, calls.index) - 1
    inside = np.searchsorted(first, calls.index, side="right") - 1 > after
    needless = [call for span in needless_passes(subject) for call in span]
    elsewhere = calls["step"].isin(subject.calls["step"].reindex(needless)) | (calls["step"] < 0)
    return calls.assign(after=after)[(after >= 0) & ~inside & ~elsewhere]


def _without_gradient(subject: Subject, calls: pd.DataFrame) -> Mask:
    """Which calls launch a choice, or one of so many last softmaxes as have no gradient.

    Of softmax and its logarithm apart, and of both together.
    """
    own = subject.own[matching(subject.own["launched"], SOFTMAX)]
    logarithm, backward = (matching(own["launched"], name) for name in (LOGARITHM, BACKWARD))
    own = own.assign(logarithm=logarithm, beyond=1 - 2 * backward)
    own = own[backward | (own["thread"] == subject.loop_thread)]
    softmaxes = own[own.index.isin(calls.index)]
    few = np.ones(len(softmaxes), dtype=bool)
    for keys in (["step", "logarithm"], ["step"]):
        beyond = own.groupby(keys)["beyond"].transform("sum")[softmaxes.index]
        last = softmaxes[few][::-1].groupby(keys).cumcount().reindex(softmaxes.index)
        few &= (last < beyond).to_numpy()
    return matching(calls["launched"], CHOICE) | calls.index.isin(softmaxes.index[few])


def _of_loss(calls: pd.DataFrame) -> Mask:
    """Which launches are of a loss: softmaxes with a gradient, what comes before, and the rest."""
    softmax, others = matching(calls["launched"], SOFTMAX), ~calls["begins"].to_numpy()
    loss = (softmax | (calls["family"] == "loss").to_numpy()) & others
    of_loss: Mask = loss | (np.append((loss & softmax)[1:], False) & others)
    return of_loss
