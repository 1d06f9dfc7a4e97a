"""Kernels that one kernel could do the work of: elementwise chains, attention not fused."""

import numpy as np
import pandas as pd

from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.attention_chains import attention_chains
from workflow_src.diagnosis.finding import Found, Subject, mechanism
from workflow_src.diagnosis.mechanisms.products import as_narrow
from workflow_src.diagnosis.passes import repeated
from workflow_src.diagnosis.sequences import fused, in_lanes, of_work, runs

ARITHMETIC = ("elementwise", "cast", "reduction")
"""Families of kernels that a compiler joins into one."""

SHORTEST, LONGEST = 5, 40
"""Elementwise kernels of a chain, and kernels of a run. Shorter chains are in any backward pass and
in each clipping of gradients; longer runs are loops over parameters, not over one tensor."""

PARAMETERS = 3
"""So are runs that repeat one sequence so many times."""

SAME_TENSOR = 0.2
"""A kernel that takes less than this share of the longest one of its chain is of another tensor."""


@mechanism("elementwise_chain")
def find_elementwise_chains(subject: Subject) -> list[Found]:
    """Neighboring elementwise kernels of one range, over tensors of one size.

    Fused, each chain is taken to need as long as its two longest kernels: all reads and writes of
    one of them, and what else it reads and writes. What isn't elementwise at either end belongs to
    its neighbors, as the casts of a product's operands and the sum that is a bias's gradient do.
    """
    work = in_lanes(subject)
    elsewhere = work["path"].ne(work["path"].shift()).to_numpy()
    number = runs(work["family"].isin(ARITHMETIC).to_numpy(), work["breaks"].to_numpy() | elsewhere)
    chains = work.assign(chain=number)[number >= 0]
    chains = chains[~chains["chain"].isin(_loops(chains))]
    chains = _between_elementwise(chains)
    longest = chains.groupby("chain")["device_ns"].transform("max")
    chains = chains[chains["device_ns"] >= SAME_TENSOR * longest]
    elementwise = chains["family"] == "elementwise"
    chains = chains[elementwise.groupby(chains["chain"]).transform("sum") >= SHORTEST]
    return _as_one(subject, chains, _two_longest(chains))


def _loops(chains: pd.DataFrame) -> list[int]:
    """The chains that are loops over parameters."""
    names = chains.groupby("chain")["name"].agg(tuple)
    return [
        int(str(chain))
        for chain, run in names.items()
        if len(run) > LONGEST or repeated(run, 1) >= PARAMETERS
    ]


def _between_elementwise(chains: pd.DataFrame) -> pd.DataFrame:
    """The chains from the first elementwise kernel of each to its last one."""
    elementwise = chains["family"] == "elementwise"
    begun = elementwise.groupby(chains["chain"]).cummax()
    goes_on = elementwise[::-1].groupby(chains["chain"][::-1]).cummax()[::-1]
    return chains[begun & goes_on]


def _two_longest(chains: pd.DataFrame) -> "pd.Series[int]":
    """The time (ns) of the two longest kernels of each chain."""
    ordered = chains.sort_values("device_ns", ascending=False)
    return ordered.groupby("chain").head(2).groupby("chain")["device_ns"].sum()


def _as_one(subject: Subject, chains: pd.DataFrame, left_ns: "pd.Series[int]") -> list[Found]:
    """The chains as one place, each fused into one kernel of left_ns (by chain)."""
    if not len(chains):
        return []
    group = np.searchsorted(left_ns.index.to_numpy(), chains["chain"].to_numpy())
    group, ns = (np.asarray(each, dtype=np.int64) for each in (group, left_ns))
    changes = fused(subject, chains, group, ns)
    return [of_work(subject, chains, *changes)]


@mechanism("attention_written_out", shown_by="softmax")
def find_attention_written_out(subject: Subject) -> list[Found]:
    """A softmax between two products, with nothing else in between but elementwise kernels."""
    return _attention(subject, by_math=False)


@mechanism("attention_by_math", shown_by="softmax")
def find_attention_by_math(subject: Subject) -> list[Found]:
    """The same by scaled_dot_product_attention, whose math backend guards its softmax."""
    return _attention(subject, by_math=True)


def _attention(subject: Subject, by_math: bool) -> list[Found]:
    """Attention that isn't fused, by torch's math backend or not.

    Fused, it is taken to need as long as its products alone: what a causal mask spares them,
    backward computes again. By the math backend these are in float32, whatever it is given.
    """
    chains = subject.cached(attention_chains)
    chains = chains[(chains["chain"] != NOWHERE) & (chains["by_math"] == by_math)]
    products = chains[chains["family"] == "gemm"]
    left = products["device_ns"] * (as_narrow(subject, products) if by_math else 1.0)
    return _as_one(subject, chains, left.groupby(products["chain"]).sum().astype(np.int64))
