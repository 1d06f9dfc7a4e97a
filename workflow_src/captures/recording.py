"""What is known of how a capture was recorded, whoever made it, and of which card it is."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_src.captures.files import head, value_after

HARDWARE, SOFTWARE = "hardware", "software"
"""How kernels' times are taken: by the device itself, or by instructions that the profiler adds."""

PROPERTIES = re.compile(rb'"deviceProperties"\s*:\s*')
"""Kineto's list of devices, which stands before a trace's events."""

PROPERTY = ("name", "computeMajor", "computeMinor")
"""What both profilers call what is read of a device."""

AMD = re.compile(r"(?i)\b(?:AMD|Instinct|Radeon|gfx\d+)")
"""In the names of cards whose profiler writes numbers of its own as the capability."""


@dataclass(frozen=True)
class Card:
    """A card by its name; capability: of compute, as (9, 0), of NVIDIA's; None if unknown."""

    name: str
    capability: tuple[int, int] | None = None


@dataclass(frozen=True)
class Recording:
    """How a capture was recorded; "" and None for what the file doesn't say.

    profiler: "nsys" or "torch", and its version; schema: the version of the export's tables;
    tracing: HARDWARE or SOFTWARE; dropped: events that the profiler says it lost; launches: calls
    that launch work; unanswered: those of them without an activity of their number; card: the one
    that worked, None if it isn't known or there are several kinds.
    """

    profiler: str = ""
    version: str = ""
    schema: str = ""
    tracing: str = ""
    dropped: int | None = None
    launches: int = 0
    unanswered: int = 0
    card: Card | None = None


def card_of_trace(path: Path) -> Card | None:
    """The card that the beginning of a trace of torch.profiler names."""
    found = value_after(PROPERTIES, head(path))
    listed = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return one_card(tuple(map(each.get, PROPERTY)) for each in listed)


def one_card(cards: Iterable[tuple[Any, ...]]) -> Card | None:
    """The one card of a host; None if its cards differ, as which of them worked isn't told."""
    read = {(str(name or ""), *numbers) for name, *numbers in cards}
    if len(read) != 1:
        return None
    name, *numbers = read.pop()
    known = all(isinstance(number, int) and number >= 0 for number in numbers) and any(numbers)
    return Card(name, (numbers[0], numbers[1]) if known and not AMD.search(name) else None)
