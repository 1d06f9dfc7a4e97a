"""The card that a capture was recorded on, and its driver."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_src.captures.files import head, value_after

PROPERTIES = re.compile(rb'"deviceProperties"\s*:\s*')
"""Kineto's list of devices, before a trace's events."""

CUDA_OF_DRIVER = re.compile(rb'"cuda_driver_version"\s*:\s*(?=\d)')
"""The CUDA version that a trace's driver can, as 13000 for 13.0."""

PROPERTY = ("name", "computeMajor", "computeMinor")
AMD = re.compile(r"(?i)\b(?:AMD|Instinct|Radeon|gfx\d+)")
"""Cards whose profiler writes numbers of its own as the capability."""


@dataclass(frozen=True)
class Card:
    """capability: NVIDIA's of compute, as (9, 0), or None; driver: its version, as 580.159.04, or
    the CUDA version that it can, or ""."""

    name: str
    capability: tuple[int, int] | None = None
    driver: str = ""


def card_of_trace(path: Path) -> Card | None:
    """The card that the beginning of a trace of torch.profiler names."""
    begin = head(path)
    found, number = value_after(PROPERTIES, begin), value_after(CUDA_OF_DRIVER, begin)
    listed = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    driver = f"CUDA {number // 1000}.{number % 1000 // 10}" if isinstance(number, int) else ""
    return one_card((tuple(map(each.get, PROPERTY)) for each in listed), driver)


def one_card(cards: Iterable[tuple[Any, ...]], driver: str) -> Card | None:
    """The one card of a host; None if its cards differ."""
    read = {(str(name or ""), *numbers) for name, *numbers in cards}
    if len(read) != 1:
        return None
    name, *numbers = read.pop()
    known = all(isinstance(number, int) and number >= 0 for number in numbers) and any(numbers)
    capability = (numbers[0], numbers[1]) if known and not AMD.search(name) else None
    return Card(name, capability, driver)
