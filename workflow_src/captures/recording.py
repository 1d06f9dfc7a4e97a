"""What is known of how a capture was recorded, whoever made it."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_src.captures.cards import Card

HARDWARE, SOFTWARE = "hardware", "software"
"""How kernels' times are taken: by the device itself, or by instructions that the profiler adds."""


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


def together(parts: Sequence[Recording]) -> Recording:
    """That of several captures as one: what all say, and the sums of what all count."""
    schemas, tracings = ({each.schema for each in parts}, {each.tracing for each in parts})
    cards = {each.card for each in parts}
    counts = [each.dropped for each in parts if each.dropped is not None]
    return Recording(
        parts[0].profiler,
        parts[0].version,
        schemas.pop() if len(schemas) == 1 else "",
        tracings.pop() if len(tracings) == 1 else "",
        sum(counts) if len(counts) == len(parts) else None,
        sum(each.launches for each in parts),
        sum(each.unanswered for each in parts),
        cards.pop() if len(cards) == 1 else None,
    )
