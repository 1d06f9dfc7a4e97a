"""Calls as a reader can check them: so many in each layer, so many besides, and in what places."""

import pandas as pd

from workflow_src.answers.kernels import PRODUCTS, calls, grouped
from workflow_src.paper.value import Cell, Joined, Value, computed

FEW = 2
"""The most calls that backward may have besides the layers': the output head's gradients."""

LAYERS = 4
"""With fewer layers, calls in backward could be split into layers and others in several ways."""


def explained(number: Value | None, inside: float, layers: Value | None) -> Cell:
    """Calls, of which `inside` are the layers': "266 (11 per layer + 2)".

    Just "266" without layers, or if they don't all call as often.
    """
    each = layer_calls(number, inside, layers)
    if number is None or each is None:
        return number
    others = computed(number.number - inside, "calls", "calls outside of layers", number, layers)
    more = (" + ", others) if number.number > inside else ()
    return Joined((number, " (", each, " per layer", *more, ")"), by="")


def layer_calls(number: Value | None, inside: float, layers: Value | None) -> Value | None:
    """The calls of each layer, if they are a whole number above 0."""
    if number is None or layers is None or layers.number < 2 or inside % layers.number:
        return None
    each = inside / layers.number
    return computed(each, "calls", "calls of a layer", number, layers) if each else None


def in_layers(rows: pd.DataFrame, layers: Value | None) -> float:
    """The calls a step in rows of kernels.csv that are the layers'; 0 if that isn't known.

    The forward pass's ranges say which calls are a layer's. Backward has no such ranges: its calls
    must be a multiple of the layers, or at most FEW more. The optimizer's are no layer's.
    """
    if layers is None or rows.empty or _in(rows, "optimizer").any():
        return 0.0
    steps, backward = rows["steps"].max(), _in(rows, "backward")
    forward = float(rows.loc[_in(rows, "block") & ~backward, "calls"].sum() / steps)
    undivided = float(rows.loc[backward, "calls"].sum() / steps)
    more = undivided % layers.number
    if undivided and (layers.number < LAYERS or undivided < layers.number or more > FEW):
        return 0.0
    return forward + undivided - more


def _in(rows: pd.DataFrame, range_name: str) -> "pd.Series[bool]":
    """Which rows ran inside a range."""
    inside = [range_name in str(path).split("/") for path in rows["path"]]
    return pd.Series(inside, index=rows.index, dtype=bool)


def where(rows: pd.DataFrame) -> Cell:
    """The components in which one kernel runs, most time first: "feed-forward 48, QK^T 24"."""
    multiply = set(rows["family"]) <= PRODUCTS
    places = {
        str(mine["place"].iloc[0]) if multiply else name: calls(mine)
        for name, mine in grouped(rows, "component").items()
    }
    return Joined(tuple(Joined(place, by=" ") for place in places.items()), by=", ")
