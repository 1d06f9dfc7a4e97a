"""How many examples of a property are tried."""

import os
from collections.abc import Iterable

from hypothesis import settings

DRAWN = os.environ.get("EXAMPLES")
costly = settings(max_examples=int(DRAWN or 15))
"""Of a property of which an example takes over 20 ms; EXAMPLES tries more, other ones each time."""


def seeds(usual: Iterable[int]) -> list[int]:
    """The usual seeds, or as many as EXAMPLES says, where it is set."""
    return list(range(int(DRAWN)) if DRAWN else usual)
