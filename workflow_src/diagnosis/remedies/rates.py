"""What is known of a case's phase before any remedy, and how fast a run's machine is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.recording import Factors, Span
from workflow_src.diagnosis.remedies import steps

NEAREST = 5
"""The rate of a product in another type is that of so many of the run that are nearest in size."""

SLOWEST_SHARE = 0.3
"""Of the ceiling: the least that a product reaches where the run has none to compare."""

RATIO_UNSURE = Span(0.85, 1.0, 1.4)
"""Of the ratio of two precisions' ceilings: small products gain less."""

CAST_BYTES = 6
"""Per element: a cast between float32 and bf16 reads one and writes the other."""

CAST_ACTIVATIONS = Span(0.3, 0.6, 1.0)
"""Of the inputs and results of linear layers, how many are cast: some are in bf16 already."""

CAST_GRADIENTS, CAST_CORE = Span(0.8, 1.0, 1.2), Span(0.5, 1.0, 1.2)
"""The same of the gradients of weights, and of what attention's values are computed from."""


def around(usual: float, share: float) -> Span:
    """A quantity that may be off by a share either way."""
    return Span(usual * (1 - share), usual, usual * (1 + share))


@dataclass(frozen=True)
class Rates:
    """How fast a machine is.

    copy_bytes_per_ms: of elementwise kernels; product_flops_per_ms: of the reference product, by
    precision; products: those of the run.
    """

    copy_bytes_per_ms: float
    product_flops_per_ms: dict[str, float]
    products: pd.DataFrame

    def fastest(self, precision: str) -> float:
        """The FLOPs per ms of the fastest product in a precision, the run's own among them."""
        own = self.products.loc[self.products["precision"] == precision, "flops_per_ms"]
        return max(self.product_flops_per_ms.get(precision, np.inf), own.max() if len(own) else 0.0)

    def likely(self, precision: str, direction: str, sizes: Factors) -> Factors:
        """FLOPs per ms of a product of such sizes: the most, the usual and the least."""
        own = self.products
        own = own[(own["precision"] == precision) & (own["direction"] == direction)]
        if own.empty:
            most = self.product_flops_per_ms[precision]
            return most * SLOWEST_SHARE ** np.array([0.0, 0.5, 1.0])
        off = np.abs(np.log(own[steps.SIZES].to_numpy("float64")) - np.log(sizes)).sum(axis=1)
        near = np.argsort(off, kind="stable")[:NEAREST]
        return np.asarray(np.quantile(own["flops_per_ms"].to_numpy()[near], (1.0, 0.5, 0.0)))


def flops_of(work: pd.DataFrame) -> "pd.Series[float]":
    """The FLOPs of rows of work that multiply."""
    return 2.0 * work[[*steps.SIZES, "launches"]].astype("float64").prod(axis=1)


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
    compared = table[["precision", *steps.SIZES]].assign(
        group=table["size"].astype(str) + " " + table["context"].astype(str),
        direction=table["direction"].where(~core, "core"),
        flops_per_ms=table["flops_per_step"] / table["busy_ms_per_step"],
    )
    return Rates(float(copies.get("copy", copies.max())) * 1e6, rates, compared)


Beside = Mapping[tuple[str, str, str], Span]
"""What was measured beside a plain step, by what it is, precision and pass. "core": what
attention's core takes, of its present time; "attention_ms": fused attention in all layers;
"cast_bytes": of weights and activations under autocast."""


@dataclass(frozen=True, eq=False)
class About:
    """What is known of a case's phase.

    tokens: of a batch; parameters: 0 if it isn't known.
    """

    step: steps.Launched
    rates: Rates
    precision: str
    tokens: int
    parameters: float
    beside: Beside = field(default_factory=dict)

    def least_ms(self, precision: str) -> float:
        """What its products take at least in a precision: at the rate of the machine's fastest.

        Not attention's, whose masked half a fused kernel skips; and none longer than recorded.
        """
        work = self.step.work[self.step.of("kind", steps.PRODUCT)]
        ms = flops_of(work) / self.rates.fastest(precision)
        return float(np.minimum(ms, work["device_ms"]).sum())


@lru_cache(maxsize=4)
def products(about: About, precision: str) -> tuple[Indices, Factors, Factors]:
    """Rows of work that multiply, and what each (ms) and its casts take in another precision: a
    column per end as of Span.at, so that -1 is the last."""
    rows = np.flatnonzero(about.step.of("kind", steps.PRODUCT, steps.CORE_PRODUCT))
    work, rates = about.step.work.iloc[rows], about.rates
    # Which product of a layer each is: layouts differ in speed by up to two times.
    core = (work["kind"] == steps.CORE_PRODUCT) | (work["matrices"] > 1)
    weight = np.where(work["k"] == about.tokens, "weight gradient", "input gradient")
    kinds = np.where(core, "core", np.where(work["pass"] == steps.BACKWARD, weight, "forward"))
    known, flops = (work["m"] > 0).to_numpy(), flops_of(work).to_numpy()
    most = rates.product_flops_per_ms[precision]
    ratio = rates.product_flops_per_ms.get(about.precision, most) / most
    ms = np.outer(ratio * work["device_ms"], RATIO_UNSURE)
    sizes = work[steps.SIZES].to_numpy(np.float64)
    for row in np.flatnonzero(known):
        ms[row] = flops[row] / rates.likely(precision, str(kinds[row]), sizes[row])
    casts_ms = _casts_ms(about, work)
    return rows, ms[:, [1, 2, 0]], casts_ms[:, [1, 2, 0]]


def _casts_ms(about: About, work: pd.DataFrame) -> Factors:
    """Casts to and from bf16 beside products (a row each): of weights and some activations.

    Where sizes aren't known, the product's part by time of what all take, if that was measured.
    """
    m, n, k, matrices = work[steps.SIZES].to_numpy(np.float64).T
    core, forward = work["kind"] == steps.CORE_PRODUCT, work["pass"] == steps.FORWARD
    moved = np.where(forward, m * k, m * n)
    moved = np.where(core, matrices * m * k * (work["leaf"] == "values"), moved)
    spans = np.array([CAST_CORE, CAST_ACTIVATIONS, CAST_GRADIENTS])
    kind = np.select([core, forward | (k != about.tokens)], [0, 1], 2)
    whole = np.where(forward & ~core, n * k, 0.0)
    elements = whole[:, None] + moved[:, None] * spans[kind]
    ms: Factors = CAST_BYTES * work["launches"].to_numpy()[:, None] * elements
    for name in (steps.FORWARD, steps.BACKWARD):
        measured = about.beside.get(("cast_bytes", "bf16", name))
        alike = (work["pass"] == name) & (work["kind"] == steps.PRODUCT)
        if measured is not None:
            share = (work["device_ms"] / work.loc[alike, "device_ms"].sum())[alike & (m == 0)]
            ms[(alike & (m == 0)).to_numpy()] = np.outer(share, measured)
    ms /= about.rates.copy_bytes_per_ms
    return ms
