"""Kernels that one kernel could do the work of: elementwise chains, attention not fused."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Finding, kind
from workflow_src.diagnosis.passes import repeated
from workflow_src.diagnosis.sequences import fused, in_lanes, runs
from workflow_src.diagnosis.subject import Subject

ARITHMETIC = ("elementwise", "cast", "reduction")
"""Families of kernels that a compiler joins into one."""

SHORTEST, LONGEST = 5, 40
"""Elementwise kernels of a chain, and kernels of a run. Shorter chains are in any backward pass and
in each clipping of gradients; longer runs are loops over parameters, not over one tensor."""

PARAMETERS = 3
"""So are runs that repeat one sequence so many times."""

BETWEEN = ("elementwise", "cast", "copy", "fill", "random", "softmax")
"""Families of kernels between the two products of attention."""

STRIDED = "direct_copy_kernel"
"""A kernel that makes a tensor contiguous."""

ALL_MASKED = "and_kernel_cuda"
"""A kernel of torch's math backend after its softmax, from 2.5 on: a row that is masked as a whole
becomes 0 (aten/src/ATen/native/transformers/attention.cpp, _safe_softmax)."""

SAME_TENSOR = 0.2
"""A kernel that takes less than this share of the longest one of its chain is of another tensor."""


@kind
def elementwise_chains(subject: Subject) -> Iterator[Finding]:
    """Neighboring elementwise kernels of one range, over tensors of one size.

    Fused, each chain is taken to need as long as its two longest kernels: all reads and writes of
    one of them, and what else it reads and writes. What isn't elementwise at either end belongs to
    its neighbors, as the casts of a product's operands and the sum that is a bias's gradient do.
    """
    work = in_lanes(subject)
    elsewhere = work["path"].ne(work["path"].shift()).to_numpy()
    number = runs(work["family"].isin(ARITHMETIC).to_numpy(), work["breaks"].to_numpy() | elsewhere)
    chains = work.assign(chain=number, elementwise=work["family"] == "elementwise")[number >= 0]
    is_loop = chains.groupby("chain")["name"].agg(_is_loop).astype(bool)
    chains = chains[~chains["chain"].isin(is_loop.index[is_loop])]
    of_chain = chains.groupby("chain")["elementwise"]
    begun, left = of_chain.cumsum(), of_chain.transform("sum")
    goes_on = begun - chains["elementwise"] < left
    chains = chains[(begun > 0) & goes_on]
    longest = chains.groupby("chain")["device_ns"].transform("max")
    chains = chains[chains["device_ns"] >= SAME_TENSOR * longest]
    chains = chains[chains.groupby("chain")["elementwise"].transform("sum") >= SHORTEST]
    if len(chains):
        ordered = chains.sort_values("device_ns", ascending=False).groupby("chain")
        two_longest = ordered.head(2).groupby("chain")["device_ns"].sum()
        yield fused(subject, "elementwise_chain", chains, two_longest)


def _is_loop(names: "pd.Series[str]") -> bool:
    """Whether a chain of kernels with such names is a loop over parameters."""
    return len(names) > LONGEST or repeated(tuple(names), 1) >= PARAMETERS


@kind
def attention(subject: Subject) -> Iterator[Finding]:
    """A softmax between two products, with nothing else in between but elementwise kernels.

    Fused, it is taken to need as long as its products alone: what a causal mask spares them,
    backward computes again. Copies just before and after a chain of forward are of it as well, as
    fused attention reads and writes heads in any layout; of backward's some stay.
    """
    work = in_lanes(subject)
    family, breaks = work["family"], work["breaks"].to_numpy()
    members = family.isin(BETWEEN).to_numpy() | matching(work["name"], ALL_MASKED)
    number = runs(members, breaks)
    kept = np.isin(number, number[(family == "softmax").to_numpy()])
    product = (family == "gemm").to_numpy()
    begins = np.append(kept[1:] & ~kept[:-1], False) & product
    ends = np.append(False, kept[:-1] & ~kept[1:]) & product
    chain = number.copy()
    chain[begins] = number[np.flatnonzero(begins) + 1]
    chain[ends] = number[np.flatnonzero(ends) - 1]
    chain[~np.isin(chain, np.intersect1d(chain[begins], chain[ends]))] = NOWHERE
    forward = subject.calls["thread"].reindex(work["call"]).to_numpy() == subject.loop_thread
    copies = forward & matching(work["name"], STRIDED) & (family == "copy").to_numpy()
    for beside in (np.append(chain[1:], NOWHERE), np.append(NOWHERE, chain[:-1])):
        run = runs(copies & (chain == NOWHERE), breaks)
        rows = np.flatnonzero((run != NOWHERE) & (beside != NOWHERE))
        of_run = pd.Series(beside[rows], index=run[rows]).groupby(level=0).first()
        also = of_run.reindex(run).fillna(NOWHERE).to_numpy(dtype=np.int64)
        chain = np.where(chain == NOWHERE, also, chain)
    chains = work.assign(chain=chain)[chain != NOWHERE]
    if len(chains):
        products = chains[chains["family"] == "gemm"]
        left_ns = products.groupby("chain")["device_ns"].sum()
        yield fused(subject, "attention_written_out", chains, left_ns)
