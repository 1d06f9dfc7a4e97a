"""The two ceilings of each precision, and how near components of one kind of work come to them."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_src.common.components import COMPONENTS
from workflow_src.common.precisions import NARROW
from workflow_src.paper.value import Value, computed, ratio
from workflow_src.studies.lines import Line, grouped, most, where

TERA, GIGA = 1e12, 1e9

WRITES_ALONE = "write"
"""The bandwidth of writing alone is no ceiling of work that reads."""

PRODUCTS_ALONE = ("qkv", "feed_forward", "head")
"""Components that run products and elementwise work counted with them, and copy nothing."""

WITHOUT_PRODUCTS = ("softmax",)


@dataclass(frozen=True)
class Ceilings:
    """Of one precision: the rate of the fastest product (TFLOP/s), and the bandwidth (GB/s).

    Both are of medians: a single fastest sample is reached by nothing that lasts.
    """

    precision: str
    products: Value | None
    bandwidth: Value | None

    @property
    def ridge(self) -> Value | None:
        """The FLOPs per byte below which the bandwidth is the lower ceiling."""
        return ratio(_scaled(self.products, TERA), _scaled(self.bandwidth, GIGA), "")

    def roof(self, intensity: float) -> float:
        """TFLOP/s that the ceilings allow work of so many FLOPs per byte; 0 if one is unknown.

        After Williams, Waterman & Patterson 2009, "Roofline".
        """
        if self.products is None or self.bandwidth is None:
            return 0.0
        return min(self.products.number, intensity * self.bandwidth.number * GIGA / TERA)


@dataclass(frozen=True)
class Component:
    """A component of a forward pass: its FLOPs per byte, and its device time.

    of_roof: its rate as a share of what the ceilings allow; None where it is of several kinds of
    work, such as a product and a cast, whose time says nothing of either.
    """

    line: Line
    intensity: Value
    busy_ms: Value
    rate: Value
    by_bandwidth: bool
    of_roof: Value | None

    @property
    def name(self) -> str:
        """The component in words."""
        code = self.line.text("component")
        return COMPONENTS[code].name if code in COMPONENTS else code.replace("_", " ")


def ceilings(every: Sequence[Line]) -> dict[str, Ceilings]:
    """The ceilings by precision, of those that have any."""
    return {
        mine[0].text("precision"): Ceilings(
            mine[0].text("precision"),
            _fastest(mine, "flops", "TFLOP/s", TERA),
            _fastest(mine, "bytes", "GB/s", GIGA),
        )
        for mine in grouped(where(every, measurement="ceiling", status="ok"), "precision")
    }


def _fastest(mine: Sequence[Line], work: str, unit: str, scale: float) -> Value | None:
    """The highest rate of a kind of work by the median time."""
    return most(
        rate(line.value(work, ""), line.value("median_ms", "ms"), unit, scale)
        for line in mine
        if line.text("name") != WRITES_ALONE
    )


def rate(work: Value | None, ms: Value | None, unit: str, scale: float) -> Value | None:
    """Work over time, in `unit`: `scale` of it a second."""
    found = ratio(work, ms, unit, "work / time")
    return found and computed(found.number * 1e3 / scale, unit, "work / time", found)


def _scaled(value: Value | None, by: float) -> Value | None:
    return value and computed(value.number * by, value.unit, value.formula, value)


def components(every: Sequence[Line], known: dict[str, Ceilings]) -> list[Component]:
    """The measured components of forward passes whose precision has both ceilings."""
    mine = where(every, measurement="component", status="ok")
    return list(
        filter(None, (_component(line, known.get(line.text("precision"))) for line in mine))
    )


def _component(line: Line, limits: Ceilings | None) -> Component | None:
    intensity, busy = line.value("flops_per_byte", ""), line.value("busy_ms", "ms")
    reached = rate(line.value("flops", "flops"), busy, "TFLOP/s", TERA)
    if not (limits and limits.ridge and intensity and busy and reached):
        return None
    by_bandwidth = intensity.number < limits.ridge.number
    lower = limits.bandwidth if by_bandwidth else limits.products
    share = reached.number / limits.roof(intensity.number)
    about = computed(share, "share", "rate / lower ceiling", reached, lower)
    component, precision = line.text("component"), line.text("precision")
    alone = component in PRODUCTS_ALONE and precision not in NARROW
    of_one_kind = alone or component in WITHOUT_PRODUCTS
    return Component(line, intensity, busy, reached, by_bandwidth, about if of_one_kind else None)
