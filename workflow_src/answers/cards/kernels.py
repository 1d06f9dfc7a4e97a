"""The kernels that take most of each case's device time, by part of a step."""

import pandas as pd

from workflow_src.answers.top_kernel.tops import MULTIPLYING, PART, kernels_of, longest, tops
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
