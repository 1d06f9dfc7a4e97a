"""Calls of kernels as multiples of a model's layers: "24 feed-forward (2 x 12 layers)"."""

from collections.abc import Sequence
from typing import Any

from workflow_src.answers.evidence import Row
from workflow_src.render import markdown

SHORT = {
    "q/k/v projections": "q/k/v",
    "attention output projection": "output projection",
    "output head": "head",
    "rotary positions": "rotary",
}
"""Places in a table's cell, where they are called otherwise than in sentences."""


NAMED = 4
"""The most places in a layer that a cell names."""


def by_layer(calls: float, places: Sequence[Row], layers: Any) -> str:
    """A kernel's calls by place, in each layer and besides: "25 = 12 x (QK^T + AV) + head".

    Of more than NAMED places in a layer the first and how many elsewhere. Without layers the calls
    at each place: "13 = 12 QK^T + head".
    """
    inside = _inside(places, layers)
    named = inside if len(inside) <= NAMED else inside[:1]
    terms = [_times(place["calls"] / layers, place) for place in named]
    if others := sum(place["calls"] / layers for place in inside if place not in named):
        terms.append(f"{markdown.calls(others)} elsewhere")
    besides = [_times(place["calls"], place) for place in places if place not in inside]
    each = f"({' + '.join(terms)})" if len(terms) > 1 else "".join(terms)
    parts = [f"{int(layers)} x {each}", *besides] if inside else besides
    return f"{markdown.calls(calls)} = {' + '.join(parts)}"


def _inside(places: Sequence[Row], layers: Any) -> list[Row]:
    """The places that every layer has."""
    known = layers and layers == layers and layers > 1
    return [place for place in places if known and place["calls"] % layers == 0]


def elsewhere(places: Sequence[Row], layers: Any) -> str:
    """What `by_layer` sums up as elsewhere, for one layer: "2 q/k/v + values"; "" for nothing."""
    inside = _inside(places, layers)
    others = inside[1:] if len(inside) > NAMED else []
    return " + ".join(sorted(_times(place["calls"] / layers, place) for place in others))


def _times(count: float, place: Row) -> str:
    """How often at a place, where that is more than once: "2 feed-forward"."""
    short = str(SHORT.get(place["place"], place["place"]))
    return short if count == 1 else f"{markdown.calls(count)} {short}"


def in_layers(places: Sequence[Row], layers: Any) -> str:
    """The calls at each place: "24 feed-forward (2 x 12 layers) + 1 output head"."""
    return " + ".join(_at(place, layers) for place in places)


def _at(place: Row, layers: Any) -> str:
    calls = f"{markdown.calls(place['calls'])} {place['place']}"
    each = in_each_layer(place, layers)
    return f"{calls} ({each})" if each else calls


def in_each_layer(place: Row, layers: Any) -> str:
    """A place's calls as a multiple of the layers: "2 x 12 layers"; "" if they aren't one.

    Of calls in backward a few may be the output head's.
    """
    calls = place["calls"]
    if place.get("component") == "backward":
        return factored(calls, layers)
    known = layers and layers == layers and layers > 1
    return f"{int(calls // layers)} x {int(layers)} layers" if known and calls % layers == 0 else ""


def factored(calls: float, layers: Any) -> str:
    """Calls as a multiple of layers and at most two more: "3 x 12 layers + 1"; "" if they aren't.

    With few layers there would be several ways to write it.
    """
    if not layers or layers != layers or layers < 4 or calls != int(calls) or calls < layers:
        return ""
    each, more = divmod(int(calls), int(layers))
    return f"{each} x {int(layers)} layers" + (f" + {more}" if more else "") if more <= 2 else ""
