"""Bars of shares, a stacked one per case, for the figures of families and of components."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from workflow_src.answers.evidence import Row
from workflow_src.render.markdown import STATE_WORDS

OTHER_COLOR = "#BBBBBB"


def stack(axes: Axes, rows: Sequence[Row], colors: Mapping[str, str], labeled: bool) -> None:
    """A stacked horizontal bar per row, or a text that says why a row has no shares.

    `colors` of the parts, in their order. The bars' names are left out unless `labeled`.
    """
    left = [0.0] * len(rows)
    for part, color in colors.items():
        widths = [100 * row["shares"].get(part, 0.0) for row in rows]
        axes.barh(range(len(rows)), widths, left=left, height=0.8, color=color, label=part)
        left = [so_far + width for so_far, width in zip(left, widths, strict=True)]
    for place, row in enumerate(rows):
        if not row["shares"]:
            axes.text(1, place, STATE_WORDS[row["state"]], va="center", fontsize=8)
    axes.set_xlim(0, 100)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), bar_names(rows) if labeled else [""] * len(rows))
    axes.grid(False, axis="y")


def bar_names(rows: Sequence[Row]) -> list[str]:
    """What each bar is called."""
    return [f"{row['size']}, {row['context']}" for row in rows]


def together(rows: Sequence[Row], apart: Sequence[str], others: str) -> list[Row]:
    """The rows with the shares of all parts but those shown `apart` summed, under one name."""
    found = []
    for row in rows:
        shares: dict[str, float] = {}
        for part, share in row["shares"].items():
            name = part if part in apart else others
            shares[name] = shares.get(name, 0.0) + share
        found.append(row | {"shares": shares})
    return found


def shown(rows: Sequence[Row], colors: Mapping[str, str]) -> dict[str, str]:
    """The parts that have time in `rows`, in the order of their colors; those without one last."""
    there = dict.fromkeys(part for row in rows for part in row["shares"])
    known = {part: color for part, color in colors.items() if part in there}
    return known | {part: OTHER_COLOR for part in there if part not in colors}
