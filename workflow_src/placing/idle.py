"""Where in the tree of range paths devices are idle during steps, by the causes of the ledger.

An idle gap belongs to the path that launched the work that ends it. It is the step's own if that
work was launched after the step, or in no range of it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.ledger import ALL_CAUSES, idle_parts
from workflow_src.placing.paths import Paths, inclusive
from workflow_src.placing.steps import ThreadSteps


def idle_by_path(threads: Sequence[ThreadSteps], work: pd.DataFrame, paths: Paths) -> pd.DataFrame:
    """A row per path with idle time in steps: whole nanoseconds, those of inner ranges included.

    idle_ns: by cause idle_{cause}_ns; own_idle_ns: what is in no inner range, so that the sum of
    these over all paths is the idle time of all steps. Steps without causes have no rows.
    """
    own = np.zeros((len(paths.text), len(ALL_CAUSES)), dtype=np.int64)
    launched_in = np.append(work["path"].to_numpy(), NOWHERE)
    above, depth = np.append(paths.above, NOWHERE), np.append(paths.depth, 0)
    for thread in threads:
        if not thread.has_calls:
            continue
        starts, ends, number = (
            thread.steps[n].to_numpy() for n in ("start_ns", "end_ns", "number")
        )
        idle = idle_parts(thread.device.gaps, thread.device.host, starts, ends)
        step, path = number[idle.step], launched_in[idle.gaps.following]
        outer = path
        while (inner := depth[outer] > depth[step]).any():
            outer = np.where(inner, above[outer], outer)
        path = np.where(idle.later | (outer != step), step, path)
        for column, part in zip(own.T, idle.parts.values(), strict=True):
            np.add.at(column, path, part)
    total = inclusive(own, paths)
    table = pd.DataFrame(
        {"process": paths.process, "path": paths.text, "idle_ns": total.sum(axis=1)}
        | {"own_idle_ns": own.sum(axis=1)}
        | {f"idle_{cause}_ns": part for cause, part in zip(ALL_CAUSES, total.T, strict=True)}
    )
    return table[table["idle_ns"] > 0].sort_values(["process", "path"], ignore_index=True)
