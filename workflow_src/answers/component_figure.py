"""The figure for answer (c): what isn't matrix multiplication in forward passes, by component."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from workflow_src.answers import gemm_share, share_bars
from workflow_src.answers.component_shares import component_rows
from workflow_src.answers.evidence import Row, cases_of, of, words
from workflow_src.render.drawing import facets, legend_of, nothing

PHASE = "forward"
PRODUCTS = "matrix multiplication"
OTHERS = "other components"

# After Paul Tol's "muted" scheme, distinguishable with any color vision; products are pale, since
# the figure is about the rest.
COLORS = {
    PRODUCTS: "#E5E5F0",
    "norms": "#44AA99",
    "q/k/v projections": "#332288",
    "rotary positions": "#DDCC77",
    "scores and mask": "#88CCEE",
    "softmax": "#CC6677",
    "values": "#AA4499",
    "fused attention": "#661100",
    "attention output projection": "#999933",
    "feed-forward": "#117733",
    "residual additions": "#882255",
    "output head": "#6699CC",
}

SMALL = 0.02
"""A component that takes less than this share of every pass is shown with the others."""

PANELS_WIDE = 3


def component_shares(
    timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame
) -> Figure:
    """Each component's share of the forward pass besides products: a bar per case."""
    cases = cases_of(timings, captures)
    every = [gemm_share.measure(case, PHASE, timings, kernels, captures) for case in cases]
    rows = [
        row | {"shares": shares(of(kernels, row["case"], PHASE)) if row["shares"] else {}}
        for row in every
    ]
    if not any(row["shares"] for row in rows):
        return nothing("no device activity was measured")
    rows = share_bars.together(rows, large(rows), OTHERS)
    by_facet = facets(rows)
    figure = _panels(by_facet, share_bars.shown(rows, COLORS))
    figure.supxlabel(f"share of the forward pass's {words(cases)['device_time']}, %", fontsize=9)
    legend_of(figure)
    return figure


def shares(rows: pd.DataFrame) -> dict[str, float]:
    """Of one pass, the share of each component besides products, and that of all products."""
    found = {name: float(row["besides"]) for name, row in component_rows(rows).items()}
    return {PRODUCTS: 1 - sum(found.values())} | found


def large(rows: Sequence[Row]) -> list[str]:
    """The parts that have a color and take SMALL or more of some pass."""
    return [name for name in COLORS if any(r["shares"].get(name, 0.0) >= SMALL for r in rows)]


def _panels(by_facet: Mapping[str, Sequence[Row]], colors: Mapping[str, str]) -> Figure:
    """A panel per facet; bars are named at the left only if they are the same in all panels."""
    wide = min(PANELS_WIDE, len(by_facet))
    high = -(-len(by_facet) // wide)
    most = max(len(mine) for mine in by_facet.values())
    figure, grid = plt.subplots(
        high,
        wide,
        figsize=(3.2 * wide + 1.8, high * (0.2 * most + 0.6) + 0.4),
        squeeze=False,
        layout="constrained",
    )
    alike = len({tuple(share_bars.bar_names(mine)) for mine in by_facet.values()}) == 1
    every = list(grid.flat)
    for place, (heading, mine) in enumerate(by_facet.items()):
        share_bars.stack(every[place], mine, colors, not alike or place % wide == 0)
        every[place].set_title(heading, fontsize=10)
    for unused in every[len(by_facet) :]:
        unused.remove()
    return figure
