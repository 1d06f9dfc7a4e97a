"""Two samples compared: Mann-Whitney's rank test, corrected for many by Holm, and the bootstrap
interval of a ratio.

The test is written here because no package that `make` installs has one. Holm and not
Benjamini-Hochberg: a gate should almost never fail without a cause, and Holm bounds the probability
of even one false alarm, however the tests depend on each other; Benjamini-Hochberg bounds only the
share of false alarms among the differences found.
"""

import math
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

RESAMPLES = 5000
LEVEL = 0.99
"""Confidence of every interval, not corrected for the number of comparisons."""


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p that samples of one distribution are ranked apart as much as `a` and `b`. The
    share of all choices of len(a) ranks whose sum is as far from its mean; exact also with ties."""
    # Doubled, ranks are whole, also of equal samples, which share their mean rank.
    doubled, chosen = (2 * pd.Series([*a, *b]).rank()).astype(int).to_numpy(), len(a)
    # Floats, because the counts of many samples don't fit in 64 bits.
    ways = np.zeros((chosen + 1, int(doubled.sum()) + 1))
    ways[0, 0] = 1
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    mean = chosen * (len(doubled) + 1)
    far = np.abs(np.arange(ways.shape[1]) - mean) >= abs(int(doubled[:chosen].sum()) - mean)
    return float(ways[chosen][far].sum()) / math.comb(len(doubled), chosen)


def smallest_p(a: int, b: int) -> float:
    """The smallest p of so many samples: when all of one are above."""
    return min(1.0, 2 / math.comb(a + b, a))


def holm(ps: Sequence[float]) -> list[float]:
    """Each p corrected for their number."""
    order = np.argsort(ps, kind="stable")
    worst = np.maximum.accumulate(np.array(ps)[order] * np.arange(len(ps), 0, -1)).clip(max=1.0)
    adjusted: list[float] = worst[np.argsort(order)].tolist()
    return adjusted


def resampled_ratios(a: Sequence[float], b: Sequence[float], name: str) -> Floats:
    """RESAMPLES ratios of the medians of `b` and `a`, each drawn again with replacement.

    Draws depend only on `name` and the numbers of samples: under the case's name, the same
    processes are drawn for all phases, which are measured in the same processes.
    """
    return _medians(b, f"{name} B") / _medians(a, f"{name} A")


def _medians(samples: Sequence[float], name: str) -> Floats:
    random = np.random.default_rng(zlib.crc32(name.encode("utf-8", "replace")))
    drawn = random.integers(0, len(samples), (RESAMPLES, len(samples)))
    medians: Floats = np.median(np.asarray(samples, dtype=np.float64)[drawn], axis=1)
    return medians


def interval(values: npt.ArrayLike) -> tuple[float, float]:
    """The central LEVEL of resampled values."""
    low, high = np.quantile(np.asarray(values), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
