"""Quantities that aren't known exactly, and the interval of a time that depends on them."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Ends = Mapping[str, int]
"""Which end of its span each uncertain quantity is at: -1 or 1; 0, or no entry, is in between."""


class Span(NamedTuple):
    """A quantity's 95 % interval, and what is usual in between."""

    least: float
    usual: float
    most: float

    def at(self, end: int) -> float:
        """The quantity at an end, or in between."""
        return (self.usual, self.most, self.least)[end]

    def times(self, factor: float) -> "Span":
        """Scaled by a positive factor."""
        return Span(*(each * factor for each in self))


def around(usual: float, share: float) -> Span:
    """A quantity that may be off by a share either way."""
    return Span(usual * (1 - share), usual, usual * (1 + share))


def interval(
    time: Callable[[Ends], float], quantities: Sequence[str], unsure: float, least: float = 0.0
) -> Span:
    """A time with its 95 % interval, which is `unsure` either way if all quantities are certain.

    It begins at `least`, below which no time can be, or at the usual time if that is shorter.

    Each quantity is moved to both of its ends, the time is computed again, and the differences are
    added as the root of the sum of their squares (S. J. Kline and F. A. McClintock, "Describing
    uncertainties in single-sample experiments", Mechanical Engineering 75, 1953).
    """
    usual = time({})
    below = above = unsure**2
    for name in quantities:
        off = [time({name: end}) - usual for end in (-1, 1)]
        below, above = below + min(0.0, *off) ** 2, above + max(0.0, *off) ** 2
    return Span(max(min(least, usual), usual - below**0.5), usual, usual + above**0.5)
