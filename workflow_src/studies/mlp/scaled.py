"""The total time with one size scaled: ratios to the base's FLOPs and time."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_src.paper.value import Cell, Ranged, Value, computed, ratio
from workflow_src.studies.lines import Line, where
from workflow_src.studies.mlp.points import BASE

POWERS = {"steps": 1, "layers": 1, "batch": 1, "dim": 2}
"""The power of each size in the FLOPs: 2 batch dim^2 per layer and product, `steps` times."""


@dataclass(frozen=True)
class Scaled:
    """The total time with one size of the base scaled: ratios to the base's FLOPs and time."""

    line: Line
    axis: str
    flops: Value | None
    time: Value | None
    low: Value | None
    high: Value | None


def scaled(scaling: Sequence[Line]) -> list[Scaled]:
    """The base and each scaled size; without a measured base none has a ratio of times."""
    bases = [line.measured("median_ms") for line in where(scaling, axis="base")]
    return [_ratios(line, *bases[:1] or [None]) for line in scaling]


def _ratios(line: Line, base: Value | None) -> Scaled:
    times = [
        ratio(line.measured(column), base, "times", f"{column} / base")
        for column in ("median_ms", "p20_ms", "p80_ms")
    ]
    sizes = {axis: line.value(axis, "count") for axis in BASE}
    flops = 1.0
    for axis, size in sizes.items():
        flops *= (size.number / BASE[axis]) ** POWERS[axis] if size else 1.0
    return Scaled(
        line,
        line.text("axis"),
        computed(flops, "times", "FLOPs / base", *sizes.values()),
        *times,
    )


def scaled_row(each: Scaled) -> dict[str, Cell]:
    """A scaled size in the table: FLOPs and time over the base's, and the time for its FLOPs."""
    sizes: dict[str, Cell] = {axis: each.line.whole(axis) for axis in BASE}
    times = Ranged(each.time, each.low, each.high) if each.time else None
    return sizes | {
        "scaled": each.axis,
        "by": each.line.whole("factor"),
        "median, ms": each.line.time or each.line.state,
        "FLOPs over the base's": each.flops,
        "time over the base's (20th to 80th percentile)": times,
        "time / FLOPs": ratio(each.time, each.flops, "times", "time / FLOPs"),
    }
