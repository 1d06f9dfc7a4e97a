"""What answers draw: lines over the context, and bars of what a phase is made of."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow_src.answers.facts import KEY
from workflow_src.paper.figures import Panel, Plot
from workflow_src.paper.run import Run, facets, ordered

BARS, LEAST_BAR = 6, 2.0
"""At most so many parts are drawn apart, of at least so many %."""


def over_context(cases: pd.DataFrame, **columns: Any) -> list[Panel]:
    """A panel for each facet, of a line per size over the context."""
    context = pd.to_numeric(cases["context"], errors="coerce").fillna(0)
    rows = cases.assign(context=context).sort_values("context", kind="stable")
    about = {"x": "context", "by": "size", "log": "xy", "xlabel": "context length"} | columns
    groups = rows.groupby(facets(rows), sort=False)
    return [Panel(mine, title=str(name), **about) for name, mine in groups]


def bars(run: Run, rows: pd.DataFrame, panels: Mapping[str, str], empty: str, wide: int) -> Plot:
    """What the parts of cases take of a phase, in %, as bars; all but the largest as one.

    rows: kernels with `ms` and `part`, NaN of what isn't shown. panels: titles by phase, with {}
    for the facet.
    """
    key = [*KEY, "part"]
    whole = rows.groupby(KEY)["ms"].sum()
    share = (100 * rows.groupby(key, sort=False)["ms"].sum() / whole).rename("share")
    most = share.groupby("part").agg(["max", "sum"])
    order = [*most[most["max"] >= LEAST_BAR]["sum"].nlargest(BARS).index, "other"]
    found = share.reset_index()
    found["part"] = found["part"].where(found["part"].isin(order), "other")
    found = found.groupby(key, sort=False)["share"].sum().reset_index()
    cases = run.cases.assign(facet=facets(run.cases), name=size_and_context(run.cases))
    alike = cases.duplicated(["facet", "name"], keep=False)
    cases["name"] = cases["name"].mask(alike, cases.index.to_series())
    found = found.join(cases[["facet", "name"]], on="case")
    found = ordered(ordered(found, "case", cases.index), "part", order)
    drawn = [
        stack(mine[mine["phase"] == phase], title.format(facet))
        for facet, mine in found.groupby("facet", sort=False)
        for phase, title in panels.items()
    ]
    most_bars = found.groupby("facet")["name"].nunique().max()
    return Plot(drawn, empty, size=(4.0, 0.9 + 0.2 * most_bars), wide=wide)


def size_and_context(cases: pd.DataFrame) -> pd.Series:
    """What a bar of a case is called."""
    return (cases["size"] + ", " + cases["context"]).str.removesuffix(", ").astype(object)


def stack(mine: pd.DataFrame, title: str, whole: str = "device time") -> Panel:
    """Bars as a panel."""
    label = f"share of {whole}, %"
    return Panel(mine, x="share", y="name", by="part", mark="stack", title=title, xlabel=label)
