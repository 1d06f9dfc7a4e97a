"""What products and passes over memory would take, from the ceilings and products of a run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workflow_src.diagnosis.edit import Factors
from workflow_src.diagnosis.remedies.span import Span, around
from workflow_src.diagnosis.remedies.work import BACKWARD, CORE_PRODUCT

NEAREST = 5
"""The rate of a product in another type is that of so many of the run that are nearest in size."""

SIZES = ("m", "n", "k", "matrices")

SLOWEST_SHARE = 0.3
"""Of the ceiling: the least that a product is taken to reach where the run has none to compare."""

RATIO_UNSURE = Span(0.85, 1.0, 1.4)
"""Of the ratio of two precisions' ceilings: small products gain less."""

NO_PRODUCTS = pd.DataFrame(
    columns=["precision", "group", "direction", *SIZES, "flops_per_ms"], dtype="float64"
)


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

    def moving(self, moved: float, unsure: float) -> Span:
        """The time (ms) of passes that move so many bytes, off by a share at most."""
        return around(moved / self.copy_bytes_per_ms, unsure)

    def without(self, group: str) -> "Rates":
        """Those without the products of a group: of the models of one size and context."""
        others = self.products[self.products["group"] != group]
        return Rates(self.copy_bytes_per_ms, self.product_flops_per_ms, others)

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
