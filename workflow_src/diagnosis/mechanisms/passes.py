"""Forward and backward passes, told by products and by threads: in vain, done again, or metrics.

Forward's products are launched by the loop's own thread, backward's by autograd's: of a program
whose autograd runs on the loop's thread nothing is told.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.mechanisms.fusion import repeated, runs
from workflow_src.diagnosis.recording import Edit
from workflow_src.diagnosis.subject import MOST, Subject, once, rows_of
from workflow_src.placing.paths import common_path
from workflow_src.placing.ranks import COLLECTIVE

PRODUCTS = ("gemm", "attention")

SEQUENCE = 6
"""So many launches in a row that are the same as in forward are forward's, run again."""

RECOMPUTED = 0.2
"""The share of forward's products from which on backward computes them again."""

OF_BACKWARD = 3.2
"""Products of backward over forward's at most: two each, or three where it computes them again."""

SOFTMAX, BACKWARD = r"cunn_\w*SoftMax|softmax_warp_", r"(?i)softmax_?(?:warp_)?backward"
"""PyTorch's kernels of softmax and its logarithm, and of their gradients. A compiler's are of parts
of one, and tell nothing."""

CHOICE = r"ArgMaxOps|ArgMinOps|gatherTopK"
"""Kernels that choose the largest or smallest, and have no gradients."""

ARITHMETIC = ("softmax", "loss", "elementwise", "cast", "reduction", "indexing", "copy")
LAST = 8
"""Launches of the same metrics after the last softmax or choice, at most."""


@once
def product_runs(subject: Subject) -> pd.DataFrame:
    """A row per run of products without others of the other kind between, in order of launch.

    forward: whether the loop's own thread launched them; step: of the first.
    """
    products = subject.work[subject.work["family"].isin(PRODUCTS)]
    calls = subject.calls.reindex(products["call"])
    forward = (calls["thread"] == subject.loop_thread).to_numpy()
    products = products.assign(forward=forward)[~calls["beside"].to_numpy(dtype=bool)]
    number = (products["forward"] != products["forward"].shift()).cumsum()
    runs = products.groupby(number).agg(
        forward=("forward", "first"), calls=("call", list), names=("name", tuple),
        first=("call", "first"), last=("call", "last"),
    )  # fmt: skip
    return runs.assign(step=subject.calls["step"].reindex(runs["first"]).to_numpy())


def in_micro_batches(subject: Subject) -> bool:
    """Whether each step has several forward passes with the same products, as many as the others,
    each before a backward pass, with no update by an optimizer's kernels between them."""
    every = product_runs(subject)
    every = every[every["first"] >= subject.recording.first_counted]
    forward = every[every["forward"] & every["forward"].shift(-1).notna()]
    kind = forward.groupby("names", sort=False).ngroup()
    alike = forward[kind.isin(kind.mode()[:1])]
    updates = subject.work.loc[subject.work["family"] == "optimizer", "call"].to_numpy()
    updated = np.searchsorted(np.sort(updates), alike["first"])
    counts = alike.groupby(["step", updated]).size()
    of_one_update = len(counts) == alike["step"].nunique()
    return of_one_update and counts.nunique() == 1 and bool(counts.iloc[0] > 1)


@once
def needless_passes(subject: Subject) -> list[tuple[int, int]]:
    """The calls, from the first to before the second, of each forward pass without backward's.

    Other than the next layer, a second pass begins where launches before a product come between no
    others. Calls before both first products are of the passes while they launch the same.
    """
    calls, spans = subject.launching(True), list[tuple[int, int]]()
    rows, launched = calls.index.to_numpy(), calls["launched"].to_numpy()
    every: list[Any] = [*product_runs(subject).itertuples()]
    for run, backward in pairwise(every):
        times = repeated(run.names, len(backward.names) / OF_BACKWARD)
        if not run.forward or times == 1:
            continue
        kept = len(run.names) // times * (times - 1)
        at = np.searchsorted(rows, run.calls[: kept + 1]).tolist()
        between = [set(launched[one + 1 : other]) for one, other in pairwise(at)]
        if between[-1] <= set().union(*between[:-1]):
            continue
        one, other = at[0], at[-1]
        while one > 0 and other - 1 > one and launched[one - 1] == launched[other - 1]:
            one, other = one - 1, other - 1
        spans.append((int(rows[one]), int(rows[other])))
    lengths = [len(run.names) for run in every if run.forward]
    if spans and every[-1].forward and lengths[-1] == min(lengths):
        # The last one of the capture, which would be followed by the next step's.
        spans.append((int(every[-1].first), int(subject.calls.index[-1])))
    return spans


def forward_in_vain(subject: Subject) -> Iterator[Finding]:
    """Forward passes without backward's: an evaluation if only some steps have one."""
    if spans := needless_passes(subject):
        calls, work = subject.calls, subject.work
        inside = np.concatenate([rows_of(calls.loc[first : after - 1]) for first, after in spans])
        products = work[work["family"].isin(PRODUCTS) & work["call"].isin(inside)]
        passes, where = calls.loc[[first for first, _ in spans]], common_path(products["path"])
        some = passes["step"].nunique() < subject.step_count
        edit = Edit(inside, gap=0, cost=0, drops=True)
        key = "evaluation" if some else "forward_twice"
        yield found(subject, key, passes, edit, where=where)


def recomputation(subject: Subject) -> Iterator[Finding]:
    """Backward launches forward's sequences of kernels again; what it communicates is its own."""
    forward, backward = subject.launching(True), subject.launching(False)
    names, launched = forward["launched"].tolist(), backward["launched"].tolist()
    known = {tuple(names[n : n + SEQUENCE]) for n in range(len(names) - SEQUENCE + 1)}
    begins = [tuple(launched[n : n + SEQUENCE]) in known for n in range(len(launched))]
    again = pd.Series(begins, backward.index, float).rolling(SEQUENCE, min_periods=1).max() > 0
    rows = backward[again & (backward["family"] != COLLECTIVE)]
    repeats, products = (calls["family"].isin(PRODUCTS).sum() for calls in (rows, forward))
    if repeats >= max(RECOMPUTED * products, 1):
        edit = Edit(rows_of(rows), gap=0, cost=0, drops=True)
        work = subject.work.loc[subject.work["call"].isin(rows.index), "path"]
        yield found(subject, "recomputation", rows, edit, where=common_path(work))


def metrics(subject: Subject) -> Iterator[Finding]:
    """Softmaxes that backward has no gradients of, and choices, after the last product."""
    calls, own = _after_products(subject), subject.own[matching(subject.own["launched"], SOFTMAX)]
    backward = matching(own["launched"], BACKWARD)
    own = own.assign(beyond=1 - 2 * backward)[backward | (own["thread"] == subject.loop_thread)]
    last = own[own.index.isin(calls.index)][::-1].groupby("step").cumcount()
    few = last < own.groupby("step")["beyond"].transform("sum")[last.index]
    begins = matching(calls["launched"], CHOICE) | calls.index.isin(last.index[few])
    if calls.loc[begins, "step"].nunique() <= MOST * subject.step_count:
        return  # It may be an evaluation.
    # Softmaxes with a gradient, and what else is of a loss.
    loss = matching(calls["launched"], SOFTMAX) | (calls["family"] == "loss").to_numpy()
    members = calls["family"].isin(ARITHMETIC).to_numpy() & (~loss | begins)
    elsewhere = calls[["path", "step", "after"]]
    segment = runs(members, (elsewhere != elsewhere.shift()).any(axis=1).to_numpy())
    nth = pd.Series(np.arange(len(calls)), calls.index)
    of_segment = nth.where(begins & (segment != NOWHERE)).groupby(segment)
    first, last = of_segment.transform("min"), of_segment.transform("max")
    rows = calls[(segment != NOWHERE) & nth.between(first - 1, last + LAST)]
    if len(rows):
        yield found(subject, "metrics", rows, Edit(rows_of(rows), gap=0, cost=0, drops=True))


def _after_products(subject: Subject) -> pd.DataFrame:
    """The loop's launches between forward's last product and the next forward's first.

    after: which pass it comes after. Steps with a forward pass without backward's are left out:
    their softmaxes may be of that.
    """
    calls, forward = subject.launching(True), product_runs(subject).query("forward")
    after = np.searchsorted(forward["last"], calls.index) - 1
    inside = np.searchsorted(forward["first"], calls.index, side="right") - 1 > after
    needless = [call for span in needless_passes(subject) for call in span]
    elsewhere = calls["step"].isin(subject.calls["step"].reindex(needless)) | (calls["step"] < 0)
    return calls.assign(after=after)[(after >= 0) & ~inside & ~elsewhere]
