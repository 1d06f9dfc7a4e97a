"""Operators as activities of a CPU: calls, each with the time that it spent itself.

An operator that calls one of its own name, as autocast's wrapper of `aten::addmm` calls
`aten::addmm`, is one call with the first such that it calls: both are the same work. What it calls
of its own name after that is a call of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.operators import DISPATCHED


@dataclass(frozen=True)
class OperatorCalls:
    """The calls among operators.

    first: which rows are the outermost operator of a call; self_ns: per such row the time (ns) of
    its call, less that of what was called.
    """

    first: npt.NDArray[np.bool_]
    self_ns: Indices


def operator_calls(
    names: Sequence[str], start: Indices, end: Indices, parent: Indices
) -> OperatorCalls:
    """The calls of operators that ran from `start` to `end` (ns).

    parent: the row of the operator that called each, or NOWHERE.
    """
    length, rows = end - start, np.arange(len(start))
    held = parent != NOWHERE
    own = length.copy()
    np.subtract.at(own, parent[held], length[held])
    caller = _same_call(names, start, parent)
    outermost = np.where(caller == NOWHERE, rows, caller)
    while (outermost != outermost[outermost]).any():
        outermost = outermost[outermost]
    whole = np.zeros_like(own)
    np.add.at(whole, outermost, own)
    return OperatorCalls(outermost == rows, whole)


def _same_call(names: Sequence[str], start: Indices, parent: Indices) -> Indices:
    """The caller of each operator that is the first of its caller's name to be called by it."""
    table = pd.DataFrame({"name": pd.Series(names, dtype=object), "parent": parent, "start": start})
    alike = table["name"].to_numpy() == table["name"].to_numpy()[parent]
    found = table[alike & (parent != NOWHERE) & table["name"].str.contains(DISPATCHED, regex=False)]
    firsts = found.sort_values("start", kind="stable").drop_duplicates("parent")
    callers = firsts["parent"].reindex(table.index, fill_value=NOWHERE)
    return np.asarray(callers, dtype=np.int64)
