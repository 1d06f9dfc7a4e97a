"""What takes each case's device time: kernels by part of a step, components of the forward pass."""

import pandas as pd

from workflow_src.answers.facts import kernels, placed
from workflow_src.answers.top_kernel.tops import MULTIPLYING, PART, kernels_of, longest, tops
from workflow_src.common.components import COMPONENTS
from workflow_src.common.thresholds import LEAST_SHARE_SHOWN
from workflow_src.paper.number import over, to
from workflow_src.paper.run import Run


def by_part(run: Run) -> pd.DataFrame:
    """A row per case and part of a step: top_kernel.tops, and what does most besides products:
    `besides_what`, and its calls and share."""
    found, _ = tops(run)
    rows = kernels_of(run)
    whole = over(rows, PART, "ms", unit="ms")
    others = rows[rows["kind"].isin(["kernel", "operator"]) & ~rows["family"].isin(MULTIPLYING)]
    mine = longest(others, "what")
    ms, calls = over(mine, PART, "ms", unit="ms"), over(mine, PART, "calls_per_step", unit="calls")
    what = mine.drop_duplicates(PART).set_index(PART)["what"]
    made = {"besides_what": what, "besides_calls": calls, "besides_share": to(ms / whole, "share")}
    return found.join(pd.DataFrame(made, dtype=object))


def by_component(run: Run) -> pd.DataFrame:
    """A row per case and component of its forward pass: its ms and share of device time, and those
    of what isn't a matrix product, most first; from LEAST_SHARE_SHOWN on, and norms."""
    rows = placed(run, kernels(run, "forward"))
    key = ["case", "component"]
    whole = over(rows, "case", "ms", unit="ms")
    others = rows[~rows["family"].isin(MULTIPLYING)]
    times = {"ms": over(rows, key, "ms", unit="ms"), "besides": over(others, key, "ms", unit="ms")}
    found = pd.DataFrame(times, dtype=object)
    all_of = whole.reindex(found.index.get_level_values("case")).set_axis(found.index)
    found["share"] = to(found["ms"] / all_of, "share")
    found["besides_share"] = to(found["besides"] / all_of, "share")
    norms = found.index.get_level_values("component") == COMPONENTS["norm"].name
    found = found[norms | (found["share"] >= LEAST_SHARE_SHOWN).astype(bool)]
    return found.sort_values("share", key=lambda share: -share.astype(float), kind="stable")
