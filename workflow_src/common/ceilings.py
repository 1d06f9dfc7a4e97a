"""The ceilings of a machine: with what they are measured, and their rates."""

from collections.abc import Mapping
from typing import Any

SIZES: dict[str, dict[str, Any]] = {
    "cpu": {
        "buffer_mib": 64,
        "shapes": [[512, 512, 512], [768, 768, 768], [256, 256, 1024]],
        "exponentials": 2**18,
        "wake_s": 0.0,
        "budget_ms": 20.0,
        "sample_ms": 1.0,
        "pause_ms": 0.0,
    },
    "cuda": {
        "buffer_mib": 1024,
        "shapes": [
            *([size] * 3 for size in (2048, 4096, 8192)),
            [2048, 2560, 10240],
            [4096, 4096, 16384],
            [4096, 1024, 10000],
        ],
        "exponentials": 2**22,
        "wake_s": 0.3,
        "budget_ms": 100.0,
        "sample_ms": 1.0,
        "pause_ms": 20.0,
    },
}
"""By device: the (m, k, n) of matrix products are squares and those of a model's layers and head;
exponentials counts elements; wake_s is how long the device is kept busy at first; budget_ms is of a
row, sample_ms the least of a sample, pause_ms between samples of a product."""

PRODUCTS, ZEROS = "compute", "compute of zeros"
"""The kinds of matrix products: of standard normal numbers, and of zeros."""

RATES: dict[str, tuple[str, str, float]] = {
    "bandwidth": ("bytes", "gb_per_s", 1.0),
    **dict.fromkeys((PRODUCTS, ZEROS), ("flops", "tflop_per_s", 1e-3)),
    "exponential": ("operations", "giga_exp_per_s", 1.0),
}
"""By kind of ceiling: the key of a call's work, its rate with unit, and that unit per 1/ns.

No product of other numbers need reach the rate of zeros.
"""

FEWEST = 10
"""Fewer samples don't tell one level from two."""


def rate_of(row: Mapping[str, Any], ns: float) -> float:
    """The rate of a ceiling's call of `ns`, in the unit of its kind."""
    work, _, scale = RATES[row["kind"]]
    return float(row[work] / ns * scale)
