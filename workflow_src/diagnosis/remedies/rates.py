"""What is known of a case's phase before any remedy, and how fast a run's machine is."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.diagnosis.recording import Factors
from workflow_src.diagnosis.remedies import steps

NEAREST = 5
"""The rate of a product in another type is that of so many of the run that are nearest in size."""

USUAL_SHARE = 0.55
"""Of the ceiling, what a product reaches where the run has none to compare: 30 to 100 %."""

CAST_BYTES = 6
"""Per element: a cast between float32 and bf16 reads one and writes the other."""

CAST_ACTIVATIONS = 0.6
"""Of the inputs and results of linear layers, how many are cast: some are in bf16 already."""


@dataclass(frozen=True)
class Rates:
    """How fast a machine is.

    copy_bytes_per_ms: of elementwise kernels; product_flops_per_ms: of the reference product, by
    precision; products: those of the run.
    """

    copy_bytes_per_ms: float
    product_flops_per_ms: dict[str, float]
    products: pd.DataFrame

    def usual(self, precision: str, direction: str, sizes: Factors) -> float:
        """FLOPs per ms of a product of such sizes."""
        own = self.products
        own = own[(own["precision"] == precision) & (own["direction"] == direction)]
        if own.empty:
            return self.product_flops_per_ms[precision] * USUAL_SHARE
        off = np.abs(np.log(own[steps.SIZES].to_numpy("float64")) - np.log(sizes)).sum(axis=1)
        near = np.argsort(off, kind="stable")[:NEAREST]
        return float(np.median(own["flops_per_ms"].to_numpy()[near]))


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


@dataclass(frozen=True, eq=False)
class About:
    """What is known of a case's phase.

    plain_ms: what it takes; tokens: of a batch; parameters: 0 or NaN if it isn't known.
    """

    step: steps.Launched
    plain_ms: float
    rates: Rates
    precision: str
    tokens: int
    parameters: float


@lru_cache(maxsize=4)
def products(about: About, precision: str) -> tuple[Indices, Factors]:
    """Rows of work that multiply, and what each takes (ms) in another precision, with casts."""
    rows = np.flatnonzero(about.step.of("kind", steps.PRODUCT, steps.CORE_PRODUCT))
    work, rates = about.step.work.iloc[rows], about.rates
    # Which product of a layer each is: layouts differ in speed by up to two times.
    core = (work["kind"] == steps.CORE_PRODUCT) | (work["matrices"] > 1)
    weight = np.where(work["k"] == about.tokens, "weight gradient", "input gradient")
    kinds = np.where(core, "core", np.where(work["pass"] == steps.BACKWARD, weight, "forward"))
    most = rates.product_flops_per_ms[precision]
    ratio = rates.product_flops_per_ms.get(about.precision, most) / most
    ms = ratio * work["device_ms"].to_numpy()
    sizes, flops = work[steps.SIZES].to_numpy(np.float64), flops_of(work).to_numpy()
    for row in np.flatnonzero(work["m"] > 0):
        ms[row] = flops[row] / rates.usual(precision, str(kinds[row]), sizes[row])
    return rows, ms + (_casts_ms(about, work) if precision == "bf16" else 0.0)


def _casts_ms(about: About, work: pd.DataFrame) -> Factors:
    """Casts to and from bf16 beside products (a row each): of weights and some activations."""
    m, n, k, matrices = work[steps.SIZES].to_numpy(np.float64).T
    forward = (work["pass"] == steps.FORWARD).to_numpy()
    # Those of weights, all; of attention, what its values are computed from.
    activations = np.where(forward, m * k, m * n)
    elements = np.select(
        [work["kind"] == steps.CORE_PRODUCT, forward, k != about.tokens],
        [
            matrices * m * k * (work["leaf"] == "values"),
            n * k + CAST_ACTIVATIONS * activations,
            CAST_ACTIVATIONS * activations,
        ],
        activations,
    )
    moved_bytes: Factors = CAST_BYTES * work["launches"].to_numpy() * elements
    return moved_bytes / about.rates.copy_bytes_per_ms
