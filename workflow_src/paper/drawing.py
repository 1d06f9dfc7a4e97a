"""What the figures share."""

import io
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from workflow_src.common.errors import attempt

# Paul Tol's schemes "bright" and "muted", for any color vision: https://sronpersonalpages.nl/~pault/
LINE_COLORS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

FAMILY_COLORS = {
    "matrix products": "#3a68bd",
    "softmax": "#d9566b",
    "casts": "#74c7c4",
    "everything else": "#dccb8a",
    "optimizer": "#65265f",
    "device idle": "#dddfe4",
}
"""Of parts of a step: any two differ for each kind of color blindness."""

STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}


def nothing(message: str) -> Figure:
    """A figure with only a message."""
    figure = plt.figure(figsize=(6, 1.2))
    figure.text(0.5, 0.5, message, ha="center", va="center")
    return figure


def log_places(axes: Axes, ticks: Mapping[int, str]) -> None:
    """A logarithmic horizontal axis with these ticks, by their place.

    There are none where a brought model has no context.
    """
    if ticks:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks([*ticks], [*ticks.values()])
    if len(ticks) == 1:
        # Limits around a single value are too narrow for the panels that share them.
        axes.set_xlim(min(ticks) / 2, min(ticks) * 2)


def log_values(axes: Axes) -> None:
    """A logarithmic vertical axis."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


ENTRY = 1.25
"""Inches of an entry of a legend above."""


def legend_of(figure: Figure, above: bool) -> None:
    """One legend for all panels, beside them or `above`."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            entries.setdefault(label, handle)
    across = max(1, min(len(entries), int(figure.get_figwidth() / ENTRY)))
    place: Any = {"loc": "outside upper center", "ncols": across}
    place = place if above else {"loc": "outside right upper"}
    figure.legend(list(entries.values()), list(entries), **place)


def svg(draw: Callable[[], Figure], name: str) -> str:
    """A figure as reproducible SVG, whose ids depend only on `name`."""
    with plt.rc_context(STYLE | {"svg.hashsalt": name}):
        figure = draw()
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def drawn(draw: Callable[[], Figure], name: str, log: str) -> str:
    """A figure as SVG, or one that says that it can't be drawn."""
    why = f"{name} could not be drawn: see {log}"
    return attempt(lambda: svg(draw, name), lambda: svg(lambda: nothing(why), name))
