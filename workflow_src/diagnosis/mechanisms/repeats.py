"""Work that is done again, or in vain: passes, recomputation, metrics of each step."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Edit, Mask
from workflow_src.diagnosis.finding import MOST, Finding, Subject, common_path, kind, rows_of
from workflow_src.diagnosis.passes import PRODUCTS, needless_passes, own_launches, runs
from workflow_src.diagnosis.sequences import runs as neighboring
from workflow_src.placing.ranks import COLLECTIVE

SEQUENCE = 6
"""So many launches in a row that are the same as in forward are forward's, run again."""

RECOMPUTED = 0.2
"""The share of forward's products from which on backward is said to compute them again."""

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


def _dropped(subject: Subject, key: str, rows: Indices) -> Finding:
    """Calls that aren't made, nor what they launch, nor the host's time before each."""
    calls = subject.calls.loc[rows]
    work = subject.work[subject.work["call"].isin(rows)]
    host_ns = (calls["gap_ns"] + calls["took_ns"]).where(~calls["beside"], 0)
    edit, where = Edit(rows, gap=0, cost=0, drops=True), common_path(work["path_text"])
    calls, device_ns = calls.assign(host_ns=host_ns), work["device_ns"].sum()
    return subject.found(key, calls, edit, where=where, device_ns=device_ns)


@kind
def passes_in_vain(subject: Subject) -> Iterator[Finding]:
    """Forward passes without backward's.

    forward_twice: in the same range and step as those with; evaluation: in a range of its own, or
    after the optimizer.
    """
    spans = needless_passes(subject)
    if not spans:
        return
    calls = subject.calls
    inside = np.concatenate([rows_of(calls.loc[first : after - 1]) for first, after in spans])
    products = subject.work[subject.work["family"].isin(PRODUCTS)]
    needless = products["call"].isin(inside)
    forward = products["call"].isin(own_launches(subject, True).index)
    where = common_path(products.loc[needless, "path_text"])
    kept = common_path(products.loc[forward & ~needless, "path_text"])
    first, after = calls["step"].reindex(np.ravel(spans)).to_numpy().reshape(-1, 2).T
    apart = where != kept or bool((first != after).any())
    found = _dropped(subject, "evaluation" if apart else "forward_twice", inside)
    yield replace(found, where=where, calls=len(spans) / subject.step_count)


@kind
def recomputation(subject: Subject) -> Iterator[Finding]:
    """Backward launches forward's sequences of kernels again; what it communicates is its own."""
    forward, backward = own_launches(subject, True), own_launches(subject, False)
    names, launched = forward["launched"].tolist(), backward["launched"].tolist()
    known = {tuple(names[n : n + SEQUENCE]) for n in range(len(names) - SEQUENCE + 1)}
    again = np.zeros(len(backward), dtype=bool)
    for n in range(len(launched) - SEQUENCE + 1):
        if tuple(launched[n : n + SEQUENCE]) in known:
            again[n : n + SEQUENCE] = True
    rows = backward[again & (backward["family"] != COLLECTIVE)]
    repeats, products = (calls["family"].isin(PRODUCTS).sum() for calls in (rows, forward))
    if repeats >= max(RECOMPUTED * products, 1):
        yield _dropped(subject, "recomputation", rows_of(rows))


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
        yield _dropped(subject, "metrics", np.concatenate(rows))


def _after_products(subject: Subject) -> pd.DataFrame:
    """The loop's launches after forward's last product, of passes that backward follows.

    To the next forward's first product. after: which pass it comes after. Steps with a forward pass
    that has no backward are left out: their softmaxes may be of that.
    """
    calls, forward = own_launches(subject, True), [run for run in runs(subject) if run.forward]
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
    found: Mask = loss | (np.append((loss & softmax)[1:], False) & others)
    return found
