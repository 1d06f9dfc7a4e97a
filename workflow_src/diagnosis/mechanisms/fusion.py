"""Kernels that one kernel could do the work of: elementwise chains, attention not fused."""

from collections.abc import Iterator

import pandas as pd

from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.attention_chains import attention_chains
from workflow_src.diagnosis.finding import Finding, Subject, kind
from workflow_src.diagnosis.mechanisms.products import as_narrow
from workflow_src.diagnosis.passes import repeated
from workflow_src.diagnosis.sequences import fused, in_lanes, runs

ARITHMETIC = ("elementwise", "cast", "reduction")
"""Families of kernels that a compiler joins into one."""

SHORTEST, LONGEST = 5, 40
"""Elementwise kernels of a chain, and kernels of a run. Shorter chains are in any backward pass and
in each clipping of gradients; longer runs are loops over parameters, not over one tensor."""

PARAMETERS = 3
"""So are runs that repeat one sequence so many times."""

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

    attention_by_math: by torch's math backend, which guards its softmax; attention_written_out: not
    by it. Fused, it is taken to need as long as its products alone: what a causal mask spares them,
    backward computes again. By the math backend these are in float32, whatever it is given.
    """
    every = attention_chains(subject)
    for by_math, chains in every[every["chain"] != NOWHERE].groupby("by_math"):
        products = chains[chains["family"] == "gemm"]
        left = products["device_ns"] * (as_narrow(subject, products) if by_math else 1.0)
        left_ns = left.groupby(products["chain"]).sum()
        key = "attention_by_math" if by_math else "attention_written_out"
        yield fused(subject, key, chains, left_ns)
