"""Attention that isn't fused: chains of kernels from a product by a softmax to another product."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Subject, once
from workflow_src.diagnosis.sequences import in_lanes, runs

BETWEEN = ("elementwise", "cast", "copy", "fill", "random", "softmax")
"""Families of kernels between the two products of attention."""

STRIDED = "direct_copy_kernel"
"""A kernel that makes a tensor contiguous."""

GUARD, ALL_MASKED = "isneginf", "and_kernel_cuda"
"""Kernels of torch's math backend after its softmax, from 2.5 on: a row that is masked as a whole
becomes 0 (aten/src/ATen/native/transformers/attention.cpp, _safe_softmax)."""

PREPARES = r"_copy_kernel|AUnaryFunctor.*MulFunctor|FillFunctor|triu_tril|where_kernel"
"""Kernels of that backend before its products: casts to float32, the scale by which both operands
are multiplied, a causal mask."""


@once
def attention_chains(subject: Subject) -> pd.DataFrame:
    """Subject.work lane by lane, with the `chain` of each row, or NOWHERE, and whether by_math.

    Copies just before and after a chain of forward are of it as well, as fused attention reads and
    writes heads in any layout; of backward's some stay. Backward's chains are by_math if most of
    forward's are; then the products next to them, of the other gradients, are of them, too.
    """
    work = in_lanes(subject)
    family, name = work["family"], work["name"]
    members = family.isin(BETWEEN).to_numpy() | matching(name, ALL_MASKED)
    number = runs(members, work["breaks"].to_numpy())
    kept = np.isin(number, number[(family == "softmax").to_numpy()])
    product = (family == "gemm").to_numpy()
    begins = np.append(kept[1:] & ~kept[:-1], False) & product
    ends = np.append(False, kept[:-1] & ~kept[1:]) & product
    chain = number.copy()
    chain[begins] = number[np.flatnonzero(begins) + 1]
    chain[ends] = number[np.flatnonzero(ends) - 1]
    chain[~np.isin(chain, np.intersect1d(chain[begins], chain[ends]))] = NOWHERE
    forward = subject.calls["thread"].reindex(work["call"]).to_numpy() == subject.loop_thread
    guarded = np.unique(chain[matching(name, GUARD) & (chain != NOWHERE)])
    mostly = 2 * len(guarded) > len(np.unique(chain[forward & (chain != NOWHERE)]))
    copies = matching(name, STRIDED) & (family == "copy").to_numpy()
    prepares = matching(name, PREPARES) if mostly else copies
    others = product & mostly
    breaks = work["breaks"].to_numpy()
    before, after = np.append(chain[1:], NOWHERE), np.append(NOWHERE, chain[:-1])
    for beside, of_forward in ((before, prepares), (after, copies)):
        also = np.where(forward, of_forward, others) & (chain == NOWHERE)
        chain = _extended(chain, beside, runs(also, breaks))
    by_math = np.where(forward, np.isin(chain, guarded), mostly) & (chain != NOWHERE)
    return work.assign(chain=chain, by_math=by_math)


def _extended(chain: Indices, beside: Indices, number: Indices) -> Indices:
    """The chain of each row, also of those runs (number) of which a row is beside a chain."""
    rows = np.flatnonzero((number != NOWHERE) & (beside != NOWHERE))
    of_run = pd.Series(beside[rows], index=number[rows]).groupby(level=0).first()
    found = of_run.reindex(number).fillna(NOWHERE).to_numpy(dtype=np.int64)
    return np.where(chain == NOWHERE, found, chain)
