"""Softmax against attention's two matrix products of one case, for its card and the figure."""

from dataclasses import dataclass, replace

import pandas as pd

from workflow_src.answers.kernels import captured, device_ms
from workflow_src.answers.softmax.by_operators import alike, attention, flop_ratio, ms_of
from workflow_src.answers.softmax.memory import moved, products
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.case import COMPILED
from workflow_src.common.components import COMPONENTS
from workflow_src.paper.value import Value, ratio, rows_of, total, value

PHASE = "forward"
SOFTMAX, SCORES, VALUES = "softmax", "scores", "values"
FUSED = "fused"
NO_ATTENTION = "no_attention"
"""The state of a forward pass in which neither ranges nor operators tell where softmax is."""


@dataclass(frozen=True)
class SoftmaxCase:
    """Softmax against QK^T and AV in one case's forward pass; what isn't known is None.

    `state` is "ok" where all three took time apart, "fused" where they are one kernel, or else why
    they weren't measured. The products' times are those of their kernels alone; `beside_ms` is the
    rest of the two ranges they lie in. Ratios are softmax's over both products' together; FLOPs are
    counted by formula, those of a brought model by its operators' shapes. `softmax_moved` and
    `moved`: the GB/s at which softmax's operators and the products read and write, by these shapes.
    """

    case: CaseKey
    state: str
    softmax_ms: Value | None = None
    qk_ms: Value | None = None
    av_ms: Value | None = None
    beside_ms: Value | None = None
    time_ratio: Value | None = None
    flop_ratio: Value | None = None
    softmax_moved: Value | None = None
    moved: Value | None = None

    @property
    def times(self) -> tuple[Value | None, ...]:
        """The times of softmax, of each product, and around the products."""
        return (self.softmax_ms, self.qk_ms, self.av_ms, self.beside_ms)

    @property
    def products_ms(self) -> Value | None:
        """The time of both products."""
        return total([self.qk_ms, self.av_ms], "QK^T + AV")


def softmax_of_case(tables: Tables, case: CaseKey) -> SoftmaxCase:
    """One case, from timings, captures, kernels and work."""
    state, rows = captured(tables, case.case, PHASE)
    softmax, scores, values = (
        rows[rows["component"] == COMPONENTS[name].name] for name in (SOFTMAX, SCORES, VALUES)
    )
    if state != "ok" or case.attention == "sdpa":
        return SoftmaxCase(case, FUSED if state == "ok" else state)
    if softmax.empty and scores.empty and values.empty:
        found = _by_operators(case, tables.of("operators", case.case, PHASE))
        if found.state != NO_ATTENTION:
            return found
        return SoftmaxCase(case, _why_unknown(case, rows))
    ms, qk, av = (device_ms(mine) for mine in (softmax, _gemms(scores), _gemms(values)))
    if not all(over(each, 0) for each in (ms, qk, av)):
        return SoftmaxCase(case, "not_measured")
    around = pd.concat([scores, values])
    found = SoftmaxCase(
        case,
        state,
        softmax_ms=ms,
        qk_ms=qk,
        av_ms=av,
        beside_ms=device_ms(around.drop(_gemms(around).index)),
        flop_ratio=_flop_ratio(tables, case),
        softmax_moved=moved(_inside(tables, case, SOFTMAX)),
        moved=moved(products(*(_inside(tables, case, name) for name in (SCORES, VALUES)))),
    )
    return replace(found, time_ratio=_over_products(found.softmax_ms, found))


def _by_operators(case: CaseKey, operators: pd.DataFrame) -> SoftmaxCase:
    """A case without ranges inside attention, as a brought model is unless it has its own."""
    found = attention(operators)
    if found is None:
        return SoftmaxCase(case, "not_told_apart" if alike(operators) else NO_ATTENTION)
    times = SoftmaxCase(
        case,
        "ok",
        softmax_ms=ms_of(found.softmax),
        qk_ms=ms_of(found.scores),
        av_ms=ms_of(found.values),
        beside_ms=ms_of(found.beside),
        flop_ratio=found.flop_ratio,
    )
    return replace(times, time_ratio=_over_products(times.softmax_ms, times))


def _why_unknown(case: CaseKey, rows: pd.DataFrame) -> str:
    """Why neither ranges nor operators tell where softmax is."""
    if (rows["family"] == "attention").any():
        return FUSED
    return "not_told_apart" if case.execution == COMPILED else NO_ATTENTION


def _gemms(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["family"] == "gemm"]


def _over_products(ms: Value | None, case: SoftmaxCase) -> Value | None:
    return ratio(ms, case.products_ms, "times", "time / (QK^T + AV)")


def _flop_ratio(tables: Tables, case: CaseKey) -> Value | None:
    """Softmax's FLOPs over both products': by formula, or by what ran in their ranges."""
    work = tables.of("work", case.case)
    above, *below = (_flops(work, name) for name in (SOFTMAX, SCORES, VALUES))
    if above is None:
        return flop_ratio(*(_inside(tables, case, name) for name in (SCORES, VALUES)))
    return ratio(above, total(below), "times", "FLOPs of softmax / (QK^T + AV)")


def _inside(tables: Tables, case: CaseKey, name: str) -> pd.DataFrame:
    """The operators that ran in the ranges of a name."""
    rows = tables.of("operators", case.case, PHASE)
    return rows[rows["path"].astype(str).str.rpartition("/")[2] == name] if len(rows) else rows


def _flops(work: pd.DataFrame, component: str) -> Value | None:
    mine = work[work["component"] == component].iloc[:1]
    return value(mine["flops"].sum(), "flops", rows_of("work", mine)) if len(mine) else None


def over(found: Value | None, least: float) -> bool:
    """Whether a value is there and above `least`."""
    return found is not None and found.number > least
