"""Elementwise chains, attention not fused; and device work in the order of each lane."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.recording import Edit, Mask, merged
from workflow_src.diagnosis.subject import LARGE, Subject, once, rows_of

ARITHMETIC = ("elementwise", "cast", "reduction")
"""Families of kernels that a compiler joins into one."""

SHORTEST, LONGEST = 5, 40
"""Elementwise kernels of a chain, and kernels of a run. Shorter chains are in any backward pass and
clipping of gradients; longer runs are loops over parameters, not over one tensor."""

PARAMETERS = 3
"""So are runs that repeat one sequence so many times."""

BETWEEN = ("elementwise", "cast", "copy", "fill", "random", "softmax")
"""Families of kernels between the two products of attention."""

ALL_MASKED = "and_kernel_cuda"
"""Of torch's math backend after its softmax, from 2.5 on: a row that is masked as a whole becomes 0
(aten/src/ATen/native/transformers/attention.cpp, _safe_softmax)."""

SAME_TENSOR = 0.2
"""A kernel with less than this share of its chain's longest one's time is of another tensor."""


@once
def in_lanes(subject: Subject) -> pd.DataFrame:
    """Subject.work lane by lane in order of start; `breaks` where a lane begins or the host was so
    long in between that it did something else than launch."""
    work = subject.work.sort_values(["lane", "start_ns"], kind="stable")
    gaps = subject.recording.calls["gap_ns"]
    breaks = (gaps > LARGE * gaps.median()).to_numpy()[work["call"]]
    breaks[1:] |= np.diff(work["lane"]) != 0
    return work.assign(breaks=breaks)


def runs(members: Mask, breaks: Mask) -> Indices:
    """The number of the run of neighboring members that each row is in, NOWHERE for others."""
    begins = members & (breaks | ~np.append(False, members[:-1]))
    return np.where(members, np.cumsum(begins) - 1, NOWHERE)


def fused(subject: Subject, key: str, chains: pd.DataFrame, left_ns: "pd.Series[int]") -> Finding:
    """Chains of work as one place, each fused into one kernel of left_ns (by `chain`).

    Launches are merged as well, but for calls that launch more than one activity, such as graphs.
    """
    group = np.searchsorted(left_ns.index.to_numpy(), chains["chain"].to_numpy())
    ns = left_ns.to_numpy().astype(np.int64)
    mixed = np.isin(group, group[~chains["alone"]])
    sums = np.bincount(group, chains["device_ns"], len(ns))
    factor = (ns / np.maximum(sums, 1))[group]
    calls = chains["call"].to_numpy()[~mixed]
    shorter = Edit(work=rows_of(chains)[mixed], factor=factor[mixed])
    return found(
        subject, key, chains, shorter, *merged(subject.recording, calls, group[~mixed], ns)
    )


def repeated(names: tuple[str, ...], shortest: float) -> int:
    """How many times these are a repetition of one sequence of at least so many names; else 1."""
    count = len(names)
    for length in range(max(int(np.ceil(shortest)), 1), count // 2 + 1):
        if count % length == 0 and names[:length] * (count // length) == names:
            return count // length
    return 1


def elementwise_chains(subject: Subject) -> Iterator[Finding]:
    """Neighboring elementwise kernels of one range, over tensors of one size.

    The two longest do all reads and writes of one of them, and what else the chain reads and
    writes. What isn't elementwise at either end belongs to its neighbors, as casts of a product's
    operands and the sum that is a bias's gradient do.
    """
    work = in_lanes(subject)
    elsewhere = work["path"].ne(work["path"].shift()).to_numpy()
    number = runs(work["family"].isin(ARITHMETIC).to_numpy(), work["breaks"].to_numpy() | elsewhere)
    chains = work.assign(chain=number, elementwise=work["family"] == "elementwise")[number >= 0]
    # What is longer, or repeats itself, is a loop over parameters.
    names = chains.groupby("chain")["name"].agg(tuple)
    is_loop = [len(each) > LONGEST or repeated(each, 1) >= PARAMETERS for each in names]
    chains = chains[~chains["chain"].isin(names.index[np.array(is_loop, dtype=bool)])]
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


def attention(subject: Subject) -> Iterator[Finding]:
    """A softmax between two products, with nothing else in between but elementwise kernels."""
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
    chains = work.assign(chain=chain)[chain != NOWHERE]
    if len(chains):
        products = chains[chains["family"] == "gemm"]
        left_ns = products.groupby("chain")["device_ns"].sum()
        yield fused(subject, "attention_written_out", chains, left_ns)
