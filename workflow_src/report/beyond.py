"""The rates of a run that exceed a ceiling of its machine: a line for each ceiling."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_src.answers.kernel_products import FORWARD, UNNAMED, WORDS
from workflow_src.common.ceilings import TOLERANCE, over_ceiling
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.render.markdown import PHASE_WORDS, limit, number, percent, records

CACHE = "a cache supplied part of the bytes, or more are counted than moved"
MAYBE = "their numbers, or their shapes, are why isn't tested"
TOO_LOW = "it was measured too low for them"

RATES = ("gb_per_s", "of_ceiling")
"""The last part of a fact's name that tells a rate, or its share of the ceiling."""

PRODUCT = ["case", "precision", "phase", "product", "direction", "m", "n", "k"]
"""What tells a product's rows in products.csv from those of others."""


@dataclass(frozen=True)
class Rate:
    """A rate as a share of its ceiling, and what it is of."""

    share: float
    what: str


def moved(answers: Iterable[Path], gb_per_s: float) -> Iterator[Rate]:
    """The rates among the facts of answers (JSON), as shares of a bandwidth."""
    for path in answers:
        with reading(path, "an answer", remake(path), StageError):
            for fact in json.loads(path.read_text(encoding="utf-8"))["facts"]:
                name, _, unit = fact["name"].rpartition("/")
                if unit in RATES:
                    share = fact["value"] / (gb_per_s if unit == "gb_per_s" else 1)
                    yield Rate(share, f"{name.removeprefix('moves/')} of {fact['case']}")


def multiplied(products: pd.DataFrame, tflop_per_s: float) -> Iterator[Rate]:
    """The rates of matrix products, as shares of a ceiling."""
    sums = products.groupby(PRODUCT, as_index=False)[["flops_per_step", "busy_ms_per_step"]].sum()
    for row in records(sums[sums["busy_ms_per_step"] > 0]):
        rate = row["flops_per_step"] / row["busy_ms_per_step"] / 1e9
        of = "" if row["direction"] == FORWARD else f"{row['direction']} of "
        sizes = "{m} x {n} x {k}".format(**row)
        where = f"in the {PHASE_WORDS[row['phase']]} of {row['case']}"
        what = f"{of}{WORDS.get(row['product'], UNNAMED)}, {sizes}, {where}"
        yield Rate(rate / tflop_per_s, f"{number(rate)} TFLOP/s, {what}")


def remark(
    rates: Iterable[Rate], ceiling: str, why: str, of_zeros: float | None = None
) -> list[str]:
    """What is said of rates beyond a ceiling; nothing if none is.

    of_zeros: the best rate of a product of zeros, as a share of the ceiling.
    """
    every = list(rates)
    over = [rate for rate in every if over_ceiling(rate.share, 1.0)]
    if not over:
        return []
    if of_zeros:
        why = _beside_zeros(over, of_zeros)
    most = max(over, key=lambda rate: rate.share)
    return [
        f"{len(over)} of {len(every)} rates are above {limit(1 + TOLERANCE)} of the ceiling of "
        f"{ceiling}, the highest at {percent(most.share)} ({most.what}): {why}."
    ]


def _beside_zeros(over: Sequence[Rate], of_zeros: float) -> str:
    """Why rates of products exceed their ceiling, where products of zeros were measured, too."""
    said = "that ceiling is of standard normal numbers; of zeros the best product reaches "
    said += f"{percent(of_zeros)} of it"
    count = sum(over_ceiling(rate.share, of_zeros) for rate in over)
    if not count:
        return f"{said}, and none of these reaches more. Whether {MAYBE}"
    return f"{said}. {count} of these {'exceeds' if count == 1 else 'exceed'} that, too: {TOO_LOW}"


def beyond(
    answers: Iterable[Path],
    products: pd.DataFrame,
    gb_per_s: float | None,
    tflop_per_s: Mapping[str, float],
    of_zeros: Mapping[str, float],
) -> list[str]:
    """What is said of rates in answers and products.csv that exceed a ceiling.

    The ceilings are those of memory and, by precision, of matrix products and of those of zeros.
    """
    found = remark(moved(answers, gb_per_s), "memory", CACHE) if gb_per_s else []
    for precision, ceiling in tflop_per_s.items():
        mine = products[products["precision"] == precision]
        zeros = of_zeros[precision] / ceiling if precision in of_zeros else None
        rates = multiplied(mine, ceiling)
        found += remark(rates, f"matrix products in {precision}", TOO_LOW, zeros)
    return found
