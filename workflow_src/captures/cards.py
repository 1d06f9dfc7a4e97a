"""The card that a capture is of: its name and compute capability, as the profiler wrote them."""

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_src.captures.files import blocks

PROPERTIES = re.compile(r'"deviceProperties"\s*:\s*')
"""Kineto's list of devices, which stands before a trace's events."""

PROPERTY = ("name", "computeMajor", "computeMinor")
"""What both profilers call what is read of a device."""

AMD = re.compile(r"(?i)\b(?:AMD|Instinct|Radeon|gfx\d+)")


@dataclass(frozen=True)
class Card:
    """A card by its name; capability: of compute, as (9, 0), of NVIDIA's; None if unknown."""

    name: str
    capability: tuple[int, int] | None = None

    @property
    def amd(self) -> bool:
        """Whether it is AMD's, whose profiler writes numbers of its own as the capability."""
        return AMD.search(self.name) is not None


def card_of_trace(path: Path) -> Card | None:
    """The card that the beginning of a trace of torch.profiler names."""
    try:
        head = next(iter(blocks(path)), b"").decode(errors="replace")
        start = PROPERTIES.search(head)
        found, _ = json.JSONDecoder().raw_decode(head, start.end()) if start else ([], 0)
    except (ValueError, RecursionError, EOFError, zlib.error):
        return None
    listed = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return one_card(tuple(map(each.get, PROPERTY)) for each in listed)


def one_card(cards: Iterable[tuple[Any, ...]]) -> Card | None:
    """The one card of a host; None if its cards differ, as which of them worked isn't told."""
    read = {(str(name or ""), *numbers) for name, *numbers in cards}
    if len(read) != 1:
        return None
    name, *numbers = read.pop()
    known = all(isinstance(number, int) and number >= 0 for number in numbers) and any(numbers)
    return Card(name, (numbers[0], numbers[1]) if known else None)
