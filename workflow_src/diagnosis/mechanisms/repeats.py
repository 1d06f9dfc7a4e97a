"""Work that is done again: forward passes that nothing comes of, and those run for backward."""

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.changes import DropCall, DropGap
from workflow_src.diagnosis.finding import Found, Subject, common_path, mechanism
from workflow_src.diagnosis.passes import PRODUCTS, Run, begins, own_launches, repeated, runs

WITH_GRADIENTS = 3.2
"""Products of a backward pass, for each of its forward pass, are two, or three where it computes
that again; so that of two forward passes with gradients they are four."""

SEQUENCE = 6
"""So many launches in a row that are the same as in forward are forward's, run again."""

RECOMPUTED = 0.2
"""The share of forward's products from which on backward is said to compute them again."""


def _needless(subject: Subject, run: Run, backward: Run | None, usual: int) -> tuple[int, int]:
    """The first call of forward passes without backward's, and that of what follows them; or none.

    usual: products of a forward pass, where no backward pass follows in the capture.
    """
    times = repeated(run.names)
    length = len(run.names) // times
    if backward is None:
        known = len(run.names) == usual and len(run.names) > 0
        return (int(run.calls[0]), int(subject.calls.index[-1]) + 1) if known else (0, 0)
    if times < 2 or len(backward.names) >= WITH_GRADIENTS * length * times / 2:
        return 0, 0
    return begins(subject, int(run.calls[0]), int(run.calls[(times - 1) * length]))


def _spans(subject: Subject) -> list[tuple[int, int]]:
    """The calls, from the first to before the second, of each forward pass without backward's."""
    every = runs(subject)
    if not every:
        return []
    followed = list(zip(every, [*every[1:], None], strict=True))
    spans = [_needless(subject, run, after, 0) for run, after in followed if run.forward and after]
    found = [span for span in spans if span[1] > span[0]]
    lengths = [len(run.names) // repeated(run.names) for run, after in followed if after]
    if found and every[-1].forward:
        found.append(_needless(subject, every[-1], None, lengths[0]))
    return [span for span in found if span[1] > span[0]]


def _dropped(subject: Subject, rows: Indices, evidence: str) -> Found:
    """Calls that aren't made, nor what they launch, nor the host's time before each."""
    calls = subject.calls.loc[rows]
    work = subject.work[subject.work["call"].isin(rows)]
    own = calls[~calls["beside"]]
    spent = (own["gap_ns"] + own["end_ns"] - own["start_ns"]).sum()
    return Found(
        common_path(work["path_text"]),
        subject.a_step(len(calls)),
        subject.ms_a_step(spent),
        subject.ms_a_step(work["device_ns"].sum()),
        (DropCall(rows), DropGap(rows)),
        evidence,
    )


def _passes(subject: Subject, elsewhere: bool) -> list[Found]:
    """Forward passes without backward's, in ranges of their own or in those of the others."""
    spans = _spans(subject)
    if not spans:
        return []
    calls = subject.calls
    inside = [calls.loc[first : after - 1].index.to_numpy() for first, after in spans]
    products = subject.work[subject.work["family"].isin(PRODUCTS)]
    needless = products["call"].isin(np.concatenate(inside))
    forward = products["call"].isin(own_launches(subject, True).index)
    where = common_path(products.loc[needless, "path_text"])
    kept = common_path(products.loc[forward & ~needless, "path_text"])
    if (where != kept) != elsewhere:
        return []
    found = _dropped(subject, np.concatenate(inside), "kernels.csv: products by range")
    count = subject.a_step(len(spans))
    return [Found(where, count, found.host_ms, found.device_ms, found.changes, found.evidence)]


@mechanism("forward_twice")
def find_forward_twice(subject: Subject) -> list[Found]:
    """A forward pass runs again in the same range, and only one of them has a backward pass."""
    return _passes(subject, elsewhere=False)


@mechanism("evaluation")
def find_evaluations(subject: Subject) -> list[Found]:
    """A forward pass without a backward pass, in a range of its own."""
    return _passes(subject, elsewhere=True)


@mechanism("recomputation")
def find_recomputation(subject: Subject) -> list[Found]:
    """Backward launches forward's sequences of kernels again."""
    forward, backward = own_launches(subject, True), own_launches(subject, False)
    families = subject.work.drop_duplicates("call").set_index("call")["family"]
    names = forward["launched"].tolist()
    known = {tuple(names[n : n + SEQUENCE]) for n in range(len(names) - SEQUENCE + 1)}
    again = np.zeros(len(backward), dtype=bool)
    launched = backward["launched"].tolist()
    for n in range(len(launched) - SEQUENCE + 1):
        if tuple(launched[n : n + SEQUENCE]) in known:
            again[n : n + SEQUENCE] = True
    rows = backward.index[again].to_numpy(dtype=np.int64)
    repeats = families.reindex(rows).isin(PRODUCTS).sum()
    if repeats < RECOMPUTED * families.reindex(forward.index).isin(PRODUCTS).sum() or not repeats:
        return []
    return [_dropped(subject, rows, "kernels.csv: forward's kernels in backward's range")]
