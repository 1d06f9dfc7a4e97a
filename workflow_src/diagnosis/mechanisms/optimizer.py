"""Updates and gradients: done for each parameter by itself, for more than is used, or sorted."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.mechanisms.passes import PRODUCTS
from workflow_src.diagnosis.recording import Edit, merged
from workflow_src.diagnosis.subject import MANY, Subject, rows_of

KERNELS = 3
"""Different kernels that an update of a parameter takes at least, in a range with products; else so
many launches."""

ZEROS = r"ZeroFunctor|FillFunctor|(?i:memset)"
COMPARISON = r"(?i)compare|isnan|isinf|isfinite"
"""Kernels that compare: they write no parameter."""

ROWS_ADDED = r"compute_grad_weight|embedding_backward_feature_kernel"
"""Kernels that add up the gradients of a table's rows, into one filled with zeros."""

FILLED_BEFORE = 16
"""Launches before these, at most: rows are sorted in between."""

PASSES = {r"LpNorm": 1, r"(?i)adam": 7, r"(?i)sgd|ListAlpha": 3, r"": 2}
"""How many tensors as large as a gradient a kernel of an optimizer or of clipping reads and writes,
by the first pattern found in its name: a fill writes one."""

LARGE_TABLE = 0.1
"""Of the device's work, from which on sparse gradients pay. A language model's table is smaller,
and often its head's weight, too."""

SORTED = r"\bindexing_backward_kernel"

READING = r"vectorized_gather_kernel|index_elementwise_kernel"
ADDED = 2
"""Times as long as reading by an index, adding up by it takes at most: 1.6 for the 800,000 edges of
a graph (H200, torch 2.11.0+cu130), where sorting first took 8.4."""

FUSED_SHARE = 0.4
"""Bytes that a fused update moves, of those by single operators: AdamW reads four tensors and
writes three, and by operators it reads and writes 18 (model/adamw.py)."""


def parameter_by_parameter(subject: Subject) -> Iterator[Finding]:
    """The optimizer updates each parameter by itself, with several small kernels."""
    if not subject.launching(False)["family"].isin(PRODUCTS).any():
        return  # Inference updates nothing.
    calls = subject.launching(True)
    calls = calls[calls.index.isin(subject.work.loc[subject.work["alone"], "call"])]  # No graphs.
    product = calls["family"].isin(PRODUCTS)
    alone = ~calls["path"].isin(calls.loc[product, "path"])
    calls = calls.assign(number=product.cumsum(), alone=alone)
    updates = (calls["family"] == "elementwise") & ~matching(calls["launched"], COMPARISON)
    together = ["number", "step", "path", "alone"]
    launches = calls[updates].groupby(together).filter(_in_turn)
    if len(launches):
        group = launches.groupby(together).ngroup().to_numpy().astype(np.int64)
        left_ns = (FUSED_SHARE * np.bincount(group, launches["device_ns"])).astype(np.int64)
        edits = merged(subject.recording, rows_of(launches), group, left_ns)
        yield found(subject, "parameter_by_parameter", launches, *edits)


def _in_turn(launches: pd.DataFrame) -> bool:
    """Whether several kernels, of those `alone` one or two, come equally often, many times."""
    often = launches["launched"].value_counts()
    common = often[often >= max(MANY, int(often.max()) / 3)]
    several = len(common) >= (1 if launches["alone"].all() else KERNELS)
    many = len(launches) >= MANY * KERNELS
    return many and several and bool(common.sum() > len(launches) / 2)


def dense_gradients(subject: Subject) -> Iterator[Finding]:
    """The gradient of a whole table of embeddings is filled, clipped and updated for a few rows."""
    calls = subject.launching(False)
    fills = np.flatnonzero(matching(calls["launched"], ZEROS))
    added = np.flatnonzero(matching(calls["launched"], ROWS_ADDED))
    last = np.append(fills, -FILLED_BEFORE)[np.searchsorted(fills, added) - 1]
    filled = calls.iloc[np.unique(last[added - last < FILLED_BEFORE])]
    if filled.empty:
        return
    passing = subject.work[subject.work["family"] == "optimizer"]
    kinds = [matching(passing["name"], pattern) for pattern in PASSES]
    passes = np.select(kinds, [*PASSES.values()])
    times_ns = passing["device_ns"].groupby(passes).transform("sum")
    ours_ns = passes * filled["device_ns"].sum()
    left = 1 - np.minimum(ours_ns / times_ns.clip(lower=1), 1)
    gone = Edit(rows_of(filled), cost=0, drops=True)
    shorter = Edit(work=rows_of(passing), factor=left.to_numpy(dtype=np.float64))
    freed_ns = passing["device_ns"] * (1 - left)
    whole_ns = subject.work.loc[subject.work["call"].isin(filled.index), "device_ns"]
    gone_ns = pd.concat([whole_ns, freed_ns])
    if gone_ns.sum() >= LARGE_TABLE * subject.work["device_ns"].sum():
        yield found(subject, "dense_gradients", filled, gone, shorter, device_ns=gone_ns)


def index_gradients(subject: Subject) -> Iterator[Finding]:
    """Gradients of x[index] are sorted by it, and added up one after another; those of index_select
    and gather aren't."""
    work, forward = subject.work, subject.launching(True).index
    slow = work[matching(work["name"], SORTED)]
    reads = work[work["call"].isin(forward) & matching(work["name"], READING)]["device_ns"]
    left = (ADDED * reads.mean() / slow["device_ns"].clip(lower=1)).clip(upper=1)
    if (left < 1).any():
        edit = Edit(work=rows_of(slow), factor=left.to_numpy(dtype=np.float64))
        yield found(subject, "index_gradients", slow, edit)
