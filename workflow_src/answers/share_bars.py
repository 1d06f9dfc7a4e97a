"""Bars of shares, a stacked one per case and phase, for the figures of (c) and (d)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from matplotlib.axes import Axes

from workflow_src.answers.tables import CaseKey
from workflow_src.common import words
from workflow_src.paper.drawing import facets

OTHER_COLOR = "#BBBBBB"


@dataclass(frozen=True)
class Bar:
    """A bar: the shares of its parts, or why there are none."""

    case: CaseKey
    phase: str
    state: str
    shares: Mapping[str, float]


def by_facet(bars: Sequence[Bar]) -> dict[str, list[Bar]]:
    """Bars by what tells their cases apart besides size and context, keyed by panel heading."""
    rows = facets([asdict(bar.case) | {"bar": bar} for bar in bars])
    return {heading: [row["bar"] for row in mine] for heading, mine in rows.items()}


def stack(axes: Axes, bars: Sequence[Bar], colors: Mapping[str, str], labeled: bool) -> None:
    """A stacked horizontal bar each, or a text that says why one has no shares.

    `colors` of the parts, in their order. The bars' names are left out unless `labeled`.
    """
    left = [0.0] * len(bars)
    for part, color in colors.items():
        widths = [100 * bar.shares.get(part, 0.0) for bar in bars]
        axes.barh(range(len(bars)), widths, left=left, height=0.8, color=color, label=part)
        left = [so_far + width for so_far, width in zip(left, widths, strict=True)]
    for place, bar in enumerate(bars):
        if not bar.shares:
            axes.text(1, place, words.STATES[bar.state], va="center", fontsize=8)
    names = [f"{bar.case.size}, {bar.case.context}" for bar in bars]
    axes.set_xlim(0, 100)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_yticks(range(len(bars)), names if labeled else [""] * len(bars))
    axes.grid(False, axis="y")


def together(bars: Sequence[Bar], apart: Sequence[str], others: str) -> list[Bar]:
    """The bars with the shares of all parts but those shown `apart` summed, under one name."""
    found = []
    for bar in bars:
        shares: dict[str, float] = {}
        for part, share in bar.shares.items():
            name = part if part in apart else others
            shares[name] = shares.get(name, 0.0) + share
        found.append(replace(bar, shares=shares))
    return found


def shown(bars: Sequence[Bar], colors: Mapping[str, str]) -> dict[str, str]:
    """The parts that have time in `bars`, in the order of their colors; those without one last."""
    there = dict.fromkeys(part for bar in bars for part in bar.shares)
    known = {part: color for part, color in colors.items() if part in there}
    return known | {part: OTHER_COLOR for part in there if part not in colors}
