"""Operators that tell which forward operator made a node of autograd's: by sequence numbers.

torch numbers the nodes that forward makes on a thread. An operator of forward has the number of the
next node; a node has its own, and runs inside of "autograd::engine::evaluate_function:
MmBackward0". Kineto has both numbers as arguments, and of a node forward's thread, by a count of
its own; emit_nvtx appends ", seq = 5" to the names of ranges.
"""

import re

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN
from workflow_src.captures.rows import of_each

AROUND = "autograd::engine::evaluate_function: "
ACCUMULATES = "AccumulateGrad"
"""Ends the names of nodes that have no number: one for each parameter."""

FORWARD, NODE, EVALUATION, ACCUMULATION = "forward", "node", "evaluation", "accumulation"
"""Kinds: operators that may have made a node, nodes, and what autograd does around one."""

_NUMBERED = re.compile(r"(?P<name>.+?), seq = (?P<number>\d{1,18})(?!\d)")


def is_evaluation(name: object) -> bool:
    """Whether it names what autograd does around a node."""
    return isinstance(name, str) and name.startswith(AROUND)


def traced(rows: pd.DataFrame) -> pd.DataFrame:
    """Those of a trace, by `name`, `number` and `forward_thread`."""
    around = of_each(rows["name"], _kind_around)
    own = np.where(rows["forward_thread"] > 0, NODE, FORWARD)
    return rows.assign(kind=np.where(around != "", around, own))


def pushed(ranges: pd.DataFrame) -> pd.DataFrame:
    """Those that emit_nvtx pushed as ranges; the thread of forward isn't known of any."""
    names = ranges["name"]
    # A node has the name that stands around it.
    around = filter(is_evaluation, names.unique())
    if not (nodes := {name.removeprefix(AROUND).split(", ")[0] for name in around}):
        return pd.DataFrame()
    said = names.str.extract(_NUMBERED)
    own = np.where(said["name"].isin(nodes), NODE, np.where(said["name"].isna(), "", FORWARD))
    kinds = of_each(names, _kind_around)
    rows = ranges.assign(
        kind=np.where(kinds != "", kinds, own),
        number=said["number"].fillna(str(UNKNOWN)).astype("int64"),
        forward_thread=UNKNOWN,
    )
    return rows[rows["kind"] != ""]


def _kind_around(name: str) -> str:
    if not is_evaluation(name):
        return ""
    return ACCUMULATION if ACCUMULATES in name else EVALUATION
