"""The kernel with the most time in each part of a step."""

import pandas as pd

from workflow_src.answers.facts import PRODUCTS, kernels, placed
from workflow_src.common import words
from workflow_src.paper.number import named, over, to
from workflow_src.paper.run import Run, keyed

FORWARD, BACKWARD, BOTH = "forward", "backward", "forward_backward"
PART = ["case", "part"]


def kernels_of(run: Run) -> pd.DataFrame:
    """The kernels of each `part` of a step; backward is what was launched inside its range."""
    rows = [kernels(run, phase).assign(part=phase) for phase in words.PHASES]
    backward = rows[1][inside(rows[1], BACKWARD)].assign(part=BACKWARD)
    return placed(run, pd.concat([*rows, backward]))


def inside(rows: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Which rows were launched inside a range of that name."""
    return rows["path"].str.contains(rf"(?:^|/){name}(?:/|$)").astype(bool)


def longest(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """The rows of what takes the most time in each part."""
    sums = rows.groupby([*PART, by], sort=False)["busy_ns"].sum().reset_index()
    sums = sums.sort_values(["busy_ns", by], ascending=[False, True])
    first = pd.MultiIndex.from_frame(sums.drop_duplicates(PART)[[*PART, by]])
    return rows[pd.MultiIndex.from_frame(rows[[*PART, by]]).isin(first)]


def tops(run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row per case and part, and the `places` of its top kernel.

    Of that kernel, and of all that does the same `together`, ms and share; its `calls`.
    """
    rows = kernels_of(run)
    work = rows[rows["kind"].isin(["kernel", "operator"])]
    mine, doing = longest(work, "name"), longest(work, "what")
    main = keyed(mine.sort_values("busy_ns", ascending=False, kind="stable"), PART)
    ms = {"part": rows, "ms": mine, "together_ms": doing}
    times = named(pd.DataFrame({name: over(each, PART, "ms") for name, each in ms.items()}))
    found = main[["name", "short_name", "what"]].join(times.drop(columns="part"))
    for name in ("", "together_"):
        found[f"{name}share"] = to(times[f"{name}ms"] / times["part"], "share")
    there = places(mine)
    found["together"] = keyed(doing, PART)["what"]
    found["where"] = there["at"].groupby(PART, sort=False).agg(", ".join)
    found["calls"] = over(mine, PART, "calls_per_step", unit="calls")
    order = pd.MultiIndex.from_product([run.cases.index, words.PARTS], names=PART)
    return found.reindex(order[order.isin(found.index)]), there


def places(rows: pd.DataFrame) -> pd.DataFrame:
    """Of a kernel in each part its calls `at` each place, most time first."""
    multiplies = rows["family"].isin(PRODUCTS).groupby([rows[name] for name in PART])
    rows = rows.assign(at=rows["place"].where(multiplies.transform("all"), rows["component"]))
    by = [*PART, "component"]
    found = rows.groupby(by).agg({"busy_ns": "sum", "place": "first", "at": "first"})
    found["calls"] = over(rows, by, "calls_per_step", unit="calls")
    found = found.reset_index().sort_values(["busy_ns", "component"], ascending=[False, True])
    return found.set_index(PART)
