"""Work that is done again: forward passes that nothing comes of, and those run for backward."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Found, Subject, common_path, mechanism, rows_of
from workflow_src.diagnosis.passes import (
    PRODUCTS,
    Run,
    begins,
    begins_anew,
    own_launches,
    repeated,
    runs,
)
from workflow_src.placing.ranks import COLLECTIVE

OF_BACKWARD = 3.2
"""Products of a backward pass are two for each of its forward pass, or three where it computes
that again; so a forward pass has at least the share 1 / 3.2 of them."""

SEQUENCE = 6
"""So many launches in a row that are the same as in forward are forward's, run again."""

RECOMPUTED = 0.2
"""The share of forward's products from which on backward is said to compute them again."""


def _in_vain(subject: Subject, run: Run, backward: Run) -> tuple[int, int] | None:
    """The first call of forward passes without backward's, and that of the pass after them."""
    times = repeated(run.names, len(backward.names) / OF_BACKWARD)
    kept = len(run.names) // times * (times - 1)
    if times == 1 or not begins_anew(subject, run, kept):
        return None
    return begins(subject, int(run.calls[0]), int(run.calls[kept]))


def needless_passes(subject: Subject) -> list[tuple[int, int]]:
    """The calls, from the first to before the second, of each forward pass without backward's."""
    every = runs(subject)
    pairs = [(run, after) for run, after in pairwise(every) if run.forward]
    spans = [_in_vain(subject, run, after) for run, after in pairs]
    found = [span for span in spans if span]
    shortest = min((len(run.names) for run, _ in pairs), default=0)
    if found and every[-1].forward and len(every[-1].names) == shortest:
        # The last one of the capture, which would be followed by the next step's.
        found.append((int(every[-1].calls[0]), int(subject.calls.index[-1])))
    return found


def dropped(subject: Subject, rows: Indices) -> Found:
    """Calls that aren't made, nor what they launch, nor the host's time before each."""
    calls = subject.calls.loc[rows]
    work = subject.work[subject.work["call"].isin(rows)]
    own = calls[~calls["beside"]]
    times = (own["gap_ns"] + own["end_ns"] - own["start_ns"]).sum(), work["device_ns"].sum()
    changes = (Edit(rows, gap=0, cost=0, drops=True),)
    return subject.found(common_path(work["path_text"]), len(calls), changes, *times)


def _passes(subject: Subject, elsewhere: bool) -> list[Found]:
    """Forward passes without backward's: in ranges or steps of their own, or with the others."""
    spans = needless_passes(subject)
    if not spans:
        return []
    calls = subject.calls
    inside = [calls.loc[first : after - 1].index.to_numpy() for first, after in spans]
    products = subject.work[subject.work["family"].isin(PRODUCTS)]
    needless = products["call"].isin(np.concatenate(inside))
    forward = products["call"].isin(own_launches(subject, True).index)
    where = common_path(products.loc[needless, "path_text"])
    kept = common_path(products.loc[forward & ~needless, "path_text"])
    first, after = (calls["step"].reindex(list(ends)) for ends in zip(*spans, strict=True))
    apart = where != kept or bool((first.to_numpy() != after.to_numpy()).any())
    if apart != elsewhere:
        return []
    found = dropped(subject, np.concatenate(inside))
    return [replace(found, where=where, calls=subject.a_step(len(spans)))]


@mechanism("forward_twice")
def find_forward_twice(subject: Subject) -> list[Found]:
    """A forward pass runs again in the same range, and only one of them has a backward pass."""
    return _passes(subject, elsewhere=False)


@mechanism("evaluation")
def find_evaluations(subject: Subject) -> list[Found]:
    """A forward pass without a backward pass, in a range of its own, or after the optimizer."""
    return _passes(subject, elsewhere=True)


@mechanism("recomputation")
def find_recomputation(subject: Subject) -> list[Found]:
    """Backward launches forward's sequences of kernels again; what it communicates is its own."""
    forward, backward = own_launches(subject, True), own_launches(subject, False)
    names = forward["launched"].tolist()
    known = {tuple(names[n : n + SEQUENCE]) for n in range(len(names) - SEQUENCE + 1)}
    again = np.zeros(len(backward), dtype=bool)
    launched = backward["launched"].tolist()
    for n in range(len(launched) - SEQUENCE + 1):
        if tuple(launched[n : n + SEQUENCE]) in known:
            again[n : n + SEQUENCE] = True
    rows = backward[again & (backward["family"] != COLLECTIVE)]
    repeats, products = (calls["family"].isin(PRODUCTS).sum() for calls in (rows, forward))
    return [dropped(subject, rows_of(rows))] if repeats >= max(RECOMPUTED * products, 1) else []
