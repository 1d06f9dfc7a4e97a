"""What is known of a case's phase before any remedy: its step, and what its work would take.

That is of products in another precision and of the casts beside them, from the ceilings and the
products of a run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.edit import Factors
from workflow_src.diagnosis.remedies.steps import (
    BACKWARD,
    CORE_PRODUCT,
    FORWARD,
    PRODUCT,
    Launched,
)


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


NEAREST = 5
"""The rate of a product in another type is that of so many of the run that are nearest in size."""

SIZES = ("m", "n", "k", "matrices")

SLOWEST_SHARE = 0.3
"""Of the ceiling: the least that a product is taken to reach where the run has none to compare."""

RATIO_UNSURE = Span(0.85, 1.0, 1.4)
"""Of the ratio of two precisions' ceilings: small products gain less."""

CAST_BYTES = 6
"""Per element: a cast between float32 and bf16 reads one and writes the other."""

CAST_ACTIVATIONS = Span(0.3, 0.6, 1.0)
"""Of the inputs and results of linear layers, how many are cast: some are in bf16 already."""


@dataclass(frozen=True)
class Rates:
    """How fast a machine is.

    copy_bytes_per_ms: of elementwise kernels; product_flops_per_ms: of the reference product, by
    precision; products: those of the run with columns precision, group, direction, m, n, k,
    matrices and flops_per_ms.
    """

    copy_bytes_per_ms: float
    product_flops_per_ms: dict[str, float]
    products: pd.DataFrame

    def fastest(self, precision: str) -> float:
        """The FLOPs per ms of the fastest product in a precision, the run's own among them."""
        own = self.products.loc[self.products["precision"] == precision, "flops_per_ms"]
        return max(self.product_flops_per_ms.get(precision, np.inf), own.max() if len(own) else 0.0)

    def product_ms(self, row: pd.Series, present: str, precision: str, tokens: int) -> Span:
        """The time of a row of work that multiplies, in another precision than the present one."""
        most = self.product_flops_per_ms[precision]
        if not row["m"]:
            ratio = self.product_flops_per_ms.get(present, most) / most
            return RATIO_UNSURE.times(ratio * row["device_ms"])
        found = self._by_kind.get((precision, direction_of(row, tokens)))
        if found is None:
            rates = np.array([SLOWEST_SHARE * most, SLOWEST_SHARE**0.5 * most, most])
        else:
            own = np.log([row[name] for name in SIZES])
            near = np.argsort(np.abs(found[:, :-1] - own).sum(axis=1), kind="stable")[:NEAREST]
            rates = np.quantile(found[near, -1], (0.0, 0.5, 1.0))
        flops = 2.0 * row["m"] * row["n"] * row["k"] * row["matrices"] * row["launches"]
        return Span(*(flops / rate for rate in rates[::-1]))

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], Factors]:
        """By precision and direction: the logarithms of SIZES, and FLOPs per ms."""
        found = {}
        for (precision, direction), rows in self.products.groupby(["precision", "direction"]):
            sizes = np.log(rows[list(SIZES)].to_numpy("float64"))
            found[str(precision), str(direction)] = np.column_stack([sizes, rows["flops_per_ms"]])
        return found


def flops_of(work: pd.DataFrame) -> "pd.Series[float]":
    """The FLOPs of rows of work that multiply."""
    return 2.0 * work[[*SIZES, "launches"]].astype("float64").prod(axis=1)


def direction_of(row: pd.Series, tokens: int) -> str:
    """Which product of a layer a row is: layouts differ in speed by up to two times."""
    if row["kind"] == CORE_PRODUCT or row["matrices"] > 1:
        return "core"
    if row["pass"] != BACKWARD:
        return "forward"
    return "weight gradient" if row["k"] == tokens else "input gradient"


def rates_of(ceilings: pd.DataFrame, products: pd.DataFrame) -> Rates:
    """The rates of a run, from its ceilings.csv and products.csv."""
    known = ceilings[ceilings["status"] == "ok"]
    copies = known[known["kind"] == "bandwidth"].set_index("name")["median_gb_per_s"]
    multiplied = known[known["kind"].isin(("compute", "sustained compute"))]
    best = multiplied.groupby("precision")["median_tflop_per_s"].max()
    rates = {str(name): float(rate) * 1e9 for name, rate in best.items()}
    positive = products[["flops_per_step", "busy_ms_per_step", "matrices"]].gt(0).all(axis=1)
    table = products[positive]
    core = (table["matrices"] > 1) | table["product"].isin(("scores", "values"))
    compared = table[["precision", *SIZES]].assign(
        group=table["size"].astype(str) + " " + table["context"].astype(str),
        direction=table["direction"].where(~core, "core"),
        flops_per_ms=table["flops_per_step"] / table["busy_ms_per_step"],
    )
    return Rates(float(copies.get("copy", copies.max())) * 1e6, rates, compared)


Beside = Mapping[tuple[str, str, str], Span]
"""What was measured beside a plain step, and takes the place of what its tables tell, by what it
is, precision and pass. "core": what attention's core takes, of its present time; "attention_ms":
fused attention in all layers; "cast_bytes": of weights and activations under autocast."""


@dataclass(frozen=True)
class About:
    """What is known of a case's phase.

    tokens: of a batch; parameters: 0 if it isn't known; update_in_graph: whether a graph holds
    AdamW written out, too, which counts its steps on the host: its time is that of a replay.
    """

    step: Launched
    rates: Rates
    precision: str
    optimizer: str
    tokens: int
    parameters: float
    update_in_graph: bool = True
    beside: Beside = field(default_factory=dict)

    def least_ms(self, precision: str) -> float:
        """What its products take at least in a precision: at the rate of the machine's fastest.

        Not attention's, whose masked half a fused kernel skips; and none longer than recorded.
        """
        work = self.step.work[self.step.of("kind", PRODUCT)]
        ms = flops_of(work) / self.rates.fastest(precision)
        return float(np.minimum(ms, work["device_ms"]).sum())

    @cached_property
    def _products(self) -> dict[str, tuple[Indices, Factors, Factors]]:
        return {}

    def products(self, precision: str) -> tuple[Indices, Factors, Factors]:
        """Rows of work that multiply, and what each (ms) and its casts take in another precision.

        A column per end of the span, so that -1 is the last: usual, most, least.
        """
        if precision not in self._products:
            rows = np.flatnonzero(self.step.of("kind", PRODUCT, CORE_PRODUCT))
            given = [self.step.work.iloc[row] for row in rows]
            about = self.precision, precision, self.tokens
            ms = [self.rates.product_ms(row, *about) for row in given]
            casts_ms = [_casts_ms(self, row) for row in given]
            # A span is (least, usual, most).
            ends = [np.reshape(each, (-1, 3))[:, [1, 2, 0]] for each in (ms, casts_ms)]
            self._products[precision] = (rows, ends[0], ends[1])
        return self._products[precision]


def _casts_ms(about: About, row: pd.Series) -> Span:
    """Casts to and from bf16 beside a product: its weight's and some of its activations'."""
    each = CAST_BYTES * row["launches"] / about.rates.copy_bytes_per_ms
    m, n, k, matrices = (float(row[name]) for name in ("m", "n", "k", "matrices"))
    if not m:
        return _share_of_casts_ms(about, row)
    if row["kind"] == CORE_PRODUCT:
        wide = matrices * m * (k if row["leaf"] == "values" else 0.0)
        return Span(0.5, 1.0, 1.2).times(each * wide)
    if row["pass"] == FORWARD:
        return Span(*(each * (n * k + share * m * k) for share in CAST_ACTIVATIONS))
    share = Span(0.8, 1.0, 1.2) if k == about.tokens else CAST_ACTIVATIONS
    return share.times(each * m * n)


def _share_of_casts_ms(about: About, row: pd.Series) -> Span:
    """Of the casts beside products whose sizes aren't known, by their time."""
    name, work = row["pass"], about.step.work
    moved = about.beside.get(("cast_bytes", "bf16", name))
    if row["kind"] == CORE_PRODUCT or moved is None:
        return Span(0.0, 0.0, 0.0)
    alike = work.loc[(work["pass"] == name) & (work["kind"] == PRODUCT), "device_ms"]
    return moved.times(row["device_ms"] / alike.sum() / about.rates.copy_bytes_per_ms)
