"""What a training step's unprofiled time goes to."""

import pandas as pd

from workflow_src.answers.drawn import size_and_context, stack
from workflow_src.answers.facts import PRODUCTS, components_of, kernels, phases
from workflow_src.common.components import COMPONENTS
from workflow_src.common.precisions import NARROW
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.figures import Plot
from workflow_src.paper.run import Run, facets
from workflow_src.placing.kernel_words import changes_type

STEP = "train_step"
PARTS = ("matrix products", "softmax", "casts", "everything else", "optimizer", "device idle")
"""In the order of a bar."""


def parts(run: Run) -> pd.DataFrame:
    """By case the ms of each of PARTS in a training step, those of `unprofiled`, and `state`.

    Idle is unprofiled time beyond the device's; under a profiler that slows operators, none. Whose
    gradient a kernel of backward computes is in operators alone: without these, softmax is in
    everything else.
    """
    steps = phases(run, [STEP]).droplevel("phase")
    known = steps.index[steps["works"].notna()]
    rows = work(run)
    rows = rows[rows["case"].isin(known)]
    found = rows.groupby(["case", part(run, rows)])["ms"].sum().unstack()
    found = found.reindex(index=steps.index, columns=list(PARTS)).fillna(0.0)
    busy, whole = (steps[name].astype(float) for name in ("busy", "unprofiled"))
    found["everything else"] += (busy - found.sum(axis=1)).clip(lower=0)
    found["device idle"] = (whole - busy).clip(lower=0)
    found = found.where(steps["works"].notna())
    return found.assign(unprofiled=steps["told"], state=steps["state"])


def work(run: Run) -> pd.DataFrame:
    """The operators of training steps, or the kernels of cases without; `ms` a step."""
    operators = run.of_phase("operators", STEP)
    operators = operators.assign(ms=operators["busy_ms_per_step"])
    others = kernels(run, STEP)
    most = others["case"].map(others.groupby("case")["steps"].max())
    others = others.assign(ms=others["busy_ns"] / most / NS_PER_MS, family_only=True)
    return pd.concat([operators, others[~others["case"].isin(operators["case"])]])


def part(run: Run, rows: pd.DataFrame) -> pd.Series:
    """The part of each row; of several, the last below."""
    names = pd.Series("everything else", rows.index, dtype=object)
    narrow = rows["precision"].isin(NARROW)
    names[narrow & rows["short_name"].map(changes_type).astype(bool)] = "casts"
    by_operator = rows["family_only"].isna()
    softmax = pd.Series(components_of(run, rows), rows.index) == COMPONENTS["softmax"]
    names[(softmax | (rows["family"] == "softmax")) & by_operator] = "softmax"
    names[rows["family"].isin(PRODUCTS)] = "matrix products"
    names[rows["path"].str.split("/").map(lambda path: "optimizer" in path)] = "optimizer"
    return names.rename("part")


def figure(run: Run) -> Plot:
    """A bar of the shares of PARTS in each training step."""
    found = parts(run)
    cases = run.cases.assign(facet=facets(run.cases))
    names = size_and_context(cases)
    told = found["unprofiled"].map(lambda number: f"{number} ms").astype(object)
    cases["name"] = names + ": " + told.where(found[PARTS[0]].notna(), found["state"])
    shares = 100 * found[list(PARTS)].div(found[list(PARTS)].sum(axis=1), axis=0).fillna(0.0)
    rows = shares.rename_axis("case").reset_index().melt("case", None, "part", "share")
    rows = rows.join(cases[["facet", "name"]], on="case")
    groups = rows.groupby("facet", sort=False)
    panels = [stack(mine, str(title), "the unprofiled step") for title, mine in groups]
    # One panel alone is wider, so that the legend above it has two lines.
    wide, above = (3.9, 1.1) if len(panels) > 1 else (6.0, 1.4)
    tall = above + 0.17 * int(rows.groupby("facet")["name"].nunique().max() if len(rows) else 1)
    none = "no training step was measured and captured"
    return Plot(panels, none, size=(wide, tall), wide=3, above=True)
