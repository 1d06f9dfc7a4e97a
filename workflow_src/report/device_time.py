"""Device time of one phase by range and family, for flame charts.

The time is that of kernels.csv, by the range that launched it. Backward is launched in one range;
where operators.csv tells the forward operator whose gradient is computed, its time is placed under
the range of that operator: `backward/block/attention/softmax` is the gradient of softmax.
"""

from collections.abc import Mapping

import pandas as pd

from workflow_src.answers.tables import Tables
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.flame import Times

BACKWARD = "/backward"

Key = tuple[str, str]
"""A path and a family."""


def device_time(tables: Tables, case: str, phase: str) -> Times:
    """Device time (ns, over all captured steps) by path and family; {} if nothing was captured."""
    mine = tables.of("kernels", case, phase)
    launched = {key: int(ns) for key, ns in _sums(mine, "busy_ns").items()}
    operators = tables.of("operators", case, phase)
    if mine.empty or operators.empty or not set(operators) >= NEEDED:
        return launched
    return _with_gradients(launched, _gradients(operators, phase, int(mine["steps"].max())))


NEEDED = {"forward_operator", "busy_ms_per_step"}
"""The columns of operators.csv by which gradients are placed; older tables lack them."""


def _gradients(operators: pd.DataFrame, phase: str, steps: int) -> pd.DataFrame:
    """The operators of gradients, with their time over `steps` steps.

    `path` is that of the forward operator, inside of backward.
    """
    mine = operators[operators["forward_operator"].fillna("").astype(str) != ""]
    inside = mine["path"].astype(str).str.removeprefix(f"{phase}/")
    inside = inside.str.replace(rf"^(?:forward|{phase})(?:/|$)", "", regex=True)
    paths = (f"{phase}{BACKWARD}/" + inside).str.rstrip("/")
    return mine.assign(path=paths, ns=mine["busy_ms_per_step"] * steps * NS_PER_MS)


def _with_gradients(launched: Mapping[Key, int], gradients: pd.DataFrame) -> dict[Key, int]:
    """Launched time with that of backward placed by range; what isn't known of it stays there."""
    found = dict(launched)
    inside = gradients[gradients["path"].str.contains(f"{BACKWARD}/", regex=False)]
    for (path, family), ns in _sums(inside, "ns").items():
        backward = (path.partition(f"{BACKWARD}/")[0] + BACKWARD, family)
        # Times of operators are means over the steps, so that their sum can be some ns too long.
        part = min(round(ns), found.get(backward, 0))
        found[path, family] = found.get((path, family), 0) + part
        found[backward] = found.get(backward, 0) - part
    return {key: ns for key, ns in found.items() if ns}


def _sums(rows: pd.DataFrame, column: str) -> dict[Key, float]:
    """The sum of a column by path and family."""
    sums = rows.groupby(["path", "family"], as_index=False)[[column]].sum()
    keys = zip(sums["path"].astype(str), sums["family"].astype(str), strict=True)
    return dict(zip(keys, map(float, sums[column]), strict=True))
