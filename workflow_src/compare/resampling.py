"""Intervals of ratios by bootstrap: drawing the samples of each run again, with replacement."""

import math
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

RESAMPLES = 5000
LEVEL = 0.99
"""Confidence of every interval; an interval is not corrected for the number of comparisons."""


def resampled_ratios(a: Sequence[float], b: Sequence[float], name: str) -> Floats:
    """RESAMPLES ratios of the medians of `b` and `a`, each drawn again with replacement.

    Draws depend only on `name` and the numbers of samples. The phases of one case are measured in
    the same processes: under the case's name, the same processes are drawn for all of them.
    """
    return _medians(b, f"{name} B") / _medians(a, f"{name} A")


def _medians(samples: Sequence[float], name: str) -> Floats:
    random = np.random.default_rng(zlib.crc32(name.encode("utf-8", "replace")))
    drawn = random.integers(0, len(samples), (RESAMPLES, len(samples)))
    medians: Floats = np.median(np.asarray(samples, dtype=np.float64)[drawn], axis=1)
    return medians


def interval(values: npt.ArrayLike) -> Interval:
    """The central LEVEL of resampled values."""
    low, high = np.quantile(np.asarray(values), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def interval_of_extremes(
    a: Interval, b: Interval, a_processes: int, b_processes: int
) -> Interval | None:
    """An interval of the ratio b / a from only the least and greatest medians of the processes.

    A distribution's median lies between the extremes of n samples with probability
    1 - 2 ** (1 - n). None where that leaves less than LEVEL for the two runs together.
    """
    confidence = 1 - 2.0 ** (1 - a_processes) - 2.0 ** (1 - b_processes)
    if confidence < LEVEL or not all(map(math.isfinite, (*a, *b))):
        return None
    return b[0] / a[1], b[1] / a[0]


FEWEST_EXTREMES = next(n for n in range(2, 100) if interval_of_extremes((1, 1), (1, 1), n, n))
"""The fewest processes of each run for such an interval."""
