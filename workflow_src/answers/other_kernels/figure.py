"""The figure of (c): what of each forward pass isn't matrix products, by component."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from workflow_src.answers.other_kernels.passes import PHASE, components, forward_pass
from workflow_src.answers.share_bars import Bar, by_facet, shown, stack, together
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.components import COMPONENTS
from workflow_src.paper.drawing import legend_of, nothing

PRODUCTS = "matrix products"
OTHERS = "other components"

# After Paul Tol's "muted" scheme, distinguishable with any color vision; products are pale, since
# the figure is about the rest.
COLORS = {PRODUCTS: "#E5E5F0"} | {
    COMPONENTS[name].name: color
    for name, color in {
        "norm": "#44AA99",
        "qkv": "#332288",
        "rotary": "#DDCC77",
        "scores": "#88CCEE",
        "softmax": "#CC6677",
        "values": "#AA4499",
        "sdpa": "#661100",
        "own_attention": "#EE8866",
        "output": "#999933",
        "feed_forward": "#117733",
        "block": "#882255",
        "head": "#6699CC",
    }.items()
}

SMALL = 0.02
"""A component that takes less than this share of every pass is shown with the others."""

PANELS_WIDE = 3


def draw(tables: Tables) -> Figure:
    """Each component's share of the forward pass besides products: a bar per case."""
    bars = [_bar(tables, case) for case in tables.cases]
    if not any(bar.shares for bar in bars):
        return nothing("no device activity was measured")
    large = [n for n in COLORS if any(bar.shares.get(n, 0.0) >= SMALL for bar in bars)]
    bars = together(bars, large, OTHERS)
    figure = _panels(by_facet(bars), shown(bars, COLORS))
    figure.supxlabel("share of the forward pass's device time, %", fontsize=9)
    legend_of(figure)
    return figure


def _bar(tables: Tables, case: CaseKey) -> Bar:
    """The share of each component besides products, and that of all products."""
    found = forward_pass(tables, case)
    parts = components(found)
    others = {part.name: part.besides.number for part in parts}
    products = {PRODUCTS: sum(part.products.number for part in parts)} if parts else {}
    return Bar(case, PHASE, found.state, products | others)


def _panels(facets: Mapping[str, Sequence[Bar]], colors: Mapping[str, str]) -> Figure:
    """A panel per facet; bars are named at the left only if they are the same in all panels."""
    wide = min(PANELS_WIDE, len(facets))
    high = -(-len(facets) // wide)
    most = max(len(mine) for mine in facets.values())
    figure, grid = plt.subplots(
        high,
        wide,
        figsize=(3.2 * wide + 1.8, high * (0.2 * most + 0.6) + 0.4),
        squeeze=False,
        layout="constrained",
    )
    named = {tuple((bar.case.size, bar.case.context) for bar in mine) for mine in facets.values()}
    every = list(grid.flat)
    for place, (heading, mine) in enumerate(facets.items()):
        stack(every[place], mine, colors, labeled=len(named) > 1 or place % wide == 0)
        every[place].set_title(heading, fontsize=10)
    for unused in every[len(facets) :]:
        unused.remove()
    return figure
