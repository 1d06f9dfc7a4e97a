"""Aligns two recordings of one step: the same activities in the same order, or nearly so."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.placing.kernel_names import short_names

NOT_ALIGNED = -1
RUN = 8
"""So many activities in a row must agree before two recordings count as together again."""
REACH = 64
"""At most so many activities are skipped, in both recordings together, to get there."""

_MEMORY = {r"^\[CUDA memcpy|^Memcpy ": "copy", r"^\[CUDA memset|^Memset ": "set"}


def normal_names(names: pd.Series) -> pd.Series:
    """Names by which activities of nsys and of torch.profiler compare; same index.

    The two demangle differently, and name copies and sets differently.
    """
    normal = short_names(names)
    for pattern, kind in _MEMORY.items():
        normal[names.str.contains(pattern, regex=True)] = kind
    return normal


def align(names: Sequence[object], others: Sequence[object]) -> Indices:
    """For each of `names`, the place in `others` of the same activity, or NOT_ALIGNED.

    Places increase. Where the two part, both are searched for the nearest place from which they
    agree again; if none is within reach, only their ends are still compared.
    """
    found = np.full(len(names), NOT_ALIGNED)
    here = there = 0
    while here < len(names) and there < len(others):
        if names[here] == others[there]:
            found[here] = there
            here, there = here + 1, there + 1
        elif skips := _skips(names[here : here + REACH + RUN], others[there : there + REACH + RUN]):
            here, there = here + skips[0], there + skips[1]
        else:
            last, other = len(names) - 1, len(others) - 1
            while last >= here and other >= there and names[last] == others[other]:
                found[last] = other
                last, other = last - 1, other - 1
            break
    return found


def _skips(names: Sequence[object], others: Sequence[object]) -> tuple[int, int] | None:
    """How many of each to skip, as few as possible, so that the rest begins alike."""
    for total in range(1, REACH + 1):
        for skipped in range(total + 1):
            mine = names[skipped : skipped + RUN]
            theirs = others[total - skipped : total - skipped + RUN]
            common = min(len(mine), len(theirs))
            if common and mine[:common] == theirs[:common]:
                return skipped, total - skipped
    return None
