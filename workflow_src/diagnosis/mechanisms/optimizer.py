"""What is done for each parameter by itself: updates, and gradients filled with zeros."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.diagnosis.edit import Edit, merged
from workflow_src.diagnosis.finding import Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.passes import PRODUCTS, own_launches
from workflow_src.diagnosis.recording import LAUNCH
from workflow_src.diagnosis.torch_ranges import in_update

PARAMETERS = 8
"""So many times a step the same kernels come in turn, if they are of each parameter."""

KERNELS = 3
"""Different kernels that an update of a parameter takes at least, in a range with products; in one
without, or in torch's own range of an update, so many launches."""

MANY_TENSORS = "ZeroFunctor"
"""A kernel that fills many tensors."""

COMPARISON = r"(?i)compare|isnan|isinf|isfinite"
"""Kernels that compare: they write no parameter."""

ADDITION = r"^void at::native::(?:vectorized_)?elementwise_kernel<.*CUDAFunctor_add<"
"""A kernel that adds two tensors of one type."""

MOST_ADDITIONS = 2
"""Of at most so many additions in backward for each fill, most are of gradients."""

FUSED_SHARE = 0.4
"""Bytes that a fused update moves, of those that the update by single operators does: AdamW reads
four tensors and writes three, and by operators it reads and writes 18 (model/adamw.py)."""


def _stretches(subject: Subject) -> list[pd.DataFrame]:
    """The loop's elementwise launches between products in a range, where they are many."""
    calls = own_launches(subject, True)
    calls = calls[calls["kind"] == LAUNCH]
    only = subject.work.drop_duplicates("call", keep=False)
    family = only.set_index("call")["family"].astype(object)
    calls = calls.assign(family=family.reindex(calls.index))
    product = calls["family"].isin(PRODUCTS)
    alone = ~calls["path_text"].isin(calls.loc[product, "path_text"])
    alone |= in_update(subject).holds(calls["start_ns"].to_numpy())
    calls = calls.assign(number=product.cumsum(), alone=alone)
    updates = (calls["family"] == "elementwise") & ~matching(calls["launched"], COMPARISON)
    calls = calls[updates.to_numpy()]
    together = ["number", "step", "path_text", "alone"]
    groups = calls.groupby(together)
    many = calls[groups["number"].transform("size") >= PARAMETERS * KERNELS]
    return [each for _, each in many.groupby(together)]


def _in_turn(launches: pd.DataFrame) -> bool:
    """Whether several kernels come equally often, many times, as for each of many parameters.

    In a range that has no products, or is torch's of an update, one kernel, or two, are enough.
    """
    often = launches["launched"].value_counts()
    common = often[often >= max(PARAMETERS, int(often.max()) / 3)]
    several = len(common) >= (1 if launches["alone"].all() else KERNELS)
    return several and bool(common.sum() > len(launches) / 2)


@mechanism("parameter_by_parameter")
def find_parameter_by_parameter(subject: Subject) -> list[Found]:
    """The optimizer updates each parameter by itself, with several small kernels."""
    updates = [each for each in _stretches(subject) if _in_turn(each)]
    if not updates:
        return []
    launches = pd.concat(updates)
    rows = rows_of(launches)
    device = subject.work[subject.work["call"].isin(rows)].groupby("call")["device_ns"].sum()
    device = device.reindex(rows)
    group = np.repeat(np.arange(len(updates)), [len(each) for each in updates])
    left_ns = FUSED_SHARE * device.groupby(group).sum()
    changes = merged(subject.recording, rows, group, left_ns.to_numpy().astype(np.int64))
    times = (launches["gap_ns"] + launches["cost_ns"]).sum(), device.sum()
    return [subject.found_in(launches, changes, *times)]


@mechanism("zero_fills")
def find_zero_fills(subject: Subject) -> list[Found]:
    """Gradients are filled with zeros, each by itself or all together, instead of forgotten.

    A gradient that is there is added to: without fills these additions go as well.
    """
    fills = _fills(subject)
    if not len(fills):
        return []
    alone = fills[~fills["launched"].str.contains(MANY_TENSORS)]
    additions = _additions(subject, alone.groupby("step").size())
    gone = pd.concat([fills, additions])
    again = fills[fills["run"].duplicated()]
    changes = (Edit(rows_of(gone), cost=0, drops=True), Edit(rows_of(again), gap=0))
    times = fills["gap_ns"].sum() + gone["cost_ns"].sum(), gone["device_ns"].sum()
    return [subject.found_in(fills, changes, *times)]


def _fills(subject: Subject) -> pd.DataFrame:
    """The loop's launches that fill gradients, with device_ns and the run that each is in."""
    calls = own_launches(subject, True)
    work = subject.work.drop_duplicates("call").set_index("call").reindex(calls.index)
    zero = matching(calls["launched"], r"ZeroFunctor|FillFunctor|(?i:memset)")
    run = (~zero).cumsum()
    fills = calls.assign(run=run, device_ns=work["device_ns"])[zero]
    many = fills.groupby("run")["run"].transform("size") >= PARAMETERS
    return fills[many | fills["launched"].str.contains(MANY_TENSORS)]


def _additions(subject: Subject, fills: "pd.Series[int]") -> pd.DataFrame:
    """Backward's additions to filled gradients, by fills of each step; none where it has fewer.

    Those that take least, since others are of activations: a bound. The host's time before each
    stays, in which autograd hands a gradient over.
    """
    calls = own_launches(subject, False)
    calls = calls[matching(calls["launched"], ADDITION)]
    device_ns = subject.work.drop_duplicates("call").set_index("call")["device_ns"]
    calls = calls.assign(device_ns=device_ns.reindex(calls.index))
    wanted = calls["step"].map(fills).fillna(0)
    number = calls.groupby("step")["step"].transform("size")
    calls = calls[(wanted <= number) & (number <= MOST_ADDITIONS * wanted)]
    nth = calls.sort_values("device_ns").groupby("step").cumcount()
    return calls[nth.reindex(calls.index) < wanted[calls.index]]
