"""Work that is done again, or in vain: passes and recomputation."""

from collections.abc import Iterator

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Finding, found, kind
from workflow_src.diagnosis.passes import PRODUCTS, needless_passes
from workflow_src.diagnosis.subject import Subject, common_path, rows_of
from workflow_src.placing.ranks import COLLECTIVE

SEQUENCE = 6
"""So many launches in a row that are the same as in forward are forward's, run again."""

RECOMPUTED = 0.2
"""The share of forward's products from which on backward is said to compute them again."""


def _dropped(subject: Subject, key: str, rows: Indices) -> Finding:
    """Calls that aren't made, nor what they launch, nor the host's time before each."""
    work = subject.work[subject.work["call"].isin(rows)]
    edit, where = Edit(rows, gap=0, cost=0, drops=True), common_path(work["path_text"])
    return found(subject, key, subject.calls.loc[rows], edit, where=where)


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
    forward = products["call"].isin(subject.launching(True).index)
    where = common_path(products.loc[needless, "path_text"])
    kept = common_path(products.loc[forward & ~needless, "path_text"])
    first, after = calls["step"].reindex(np.ravel(spans)).to_numpy().reshape(-1, 2).T
    apart = where != kept or bool((first != after).any())
    key, passes = "evaluation" if apart else "forward_twice", calls.loc[[one for one, _ in spans]]
    edit = Edit(inside, gap=0, cost=0, drops=True)
    yield found(subject, key, passes, edit, where=where)


@kind
def recomputation(subject: Subject) -> Iterator[Finding]:
    """Backward launches forward's sequences of kernels again; what it communicates is its own."""
    forward, backward = subject.launching(True), subject.launching(False)
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
