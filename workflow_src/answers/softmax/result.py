"""(e): softmax against attention's two matrix products in the forward pass: time and FLOPs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.example import at_each_precision, example
from workflow_src.answers.kernels import captured, device_ms
from workflow_src.answers.left_out import left_out, without_disturbed
from workflow_src.answers.matrix import in_columns, matrices
from workflow_src.answers.parts import Part, parts_table
from workflow_src.answers.softmax.by_operators import alike, attention, flop_ratio, ms_of
from workflow_src.answers.softmax.memory import bandwidth, moved, products
from workflow_src.answers.softmax.steps import ORDER, steps_of
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common import words
from workflow_src.common.case import COMPILED
from workflow_src.common.components import COMPONENTS
from workflow_src.paper.show import Printer
from workflow_src.paper.value import (
    Cell,
    Joined,
    Value,
    count,
    median,
    ratio,
    rows_of,
    spread,
    total,
    value,
)

PHASE = "forward"
SOFTMAX, SCORES, VALUES = "softmax", "scores", "values"
FUSED = "fused"
SAME = "same"
NOT_WRITTEN_OUT = "attention not written out"
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
    steps: tuple[Part, ...] = ()
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


@dataclass(frozen=True)
class Softmax:
    """What (e) found.

    `compared` and the medians are of the cases with attention written out, if there are any, or
    else of all in which softmax was measured apart; without disturbed ones. `longer`: softmax takes
    longer than both products; `more`, of those `counted`: its share of their time exceeds that of
    their FLOPs. `ratios` has the median ratio of times by precision.
    """

    cases: tuple[SoftmaxCase, ...]
    compared: Value
    longer: Value
    counted: Value
    more: Value
    fused: int
    ratios: Mapping[str, Value]
    flops: Cell
    matrices: tuple[pd.DataFrame, ...]
    flop_matrices: tuple[pd.DataFrame, ...]
    summary: pd.DataFrame
    example: CaseKey | None
    steps: pd.DataFrame
    by_case: pd.DataFrame
    opening: tuple[OpeningRow, ...]
    bandwidth: Value | None
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)


def result(tables: Tables) -> Softmax:
    """Answer (e) from timings, captures, kernels and work; operators, where ranges don't tell."""
    cases = {case: softmax_of_case(tables, case) for case in tables.cases}
    timed = {case: found for case, found in cases.items() if found.state == "ok"}
    counted = {case: timed[case] for case in undisturbed(tables) if case in timed}
    mine = {case: found for case, found in counted.items() if case.attention == "naive"} or counted
    columns = in_columns(tables.cases, mine)
    chosen, fused = example(tables), [c for c in cases.values() if c.state == FUSED]
    shown = {case.precision: cases[case].steps for case in at_each_precision(tables, chosen)}
    return Softmax(
        cases=tuple(cases.values()),
        compared=count(each.time_ratio for each in mine.values()),
        longer=count(each.time_ratio for each in mine.values() if over(each.time_ratio, 1)),
        counted=count(each.flop_ratio for each in mine.values()),
        more=count(each.flop_ratio for each in mine.values() if more_than_flops(each)),
        fused=len(fused),
        ratios=_ratios(columns),
        flops=flops_of(list(mine.values())),
        matrices=matrices(tables.cases, lambda case: cell(cases[case])) if timed or fused else (),
        flop_matrices=flop_matrices(timed),
        summary=summary(columns),
        example=chosen,
        steps=parts_table(("step", "share"), ORDER, shown),
        by_case=by_case(list(timed.values())),
        opening=opening(columns),
        bandwidth=bandwidth(tables),
        left_out=left_out(
            tables,
            {
                case: state if state != "ok" or case in mine else NOT_WRITTEN_OUT
                for case, state in without_disturbed(
                    tables, {case: found.state for case, found in cases.items()}
                ).items()
            },
        ),
    )


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
        steps=steps_of(softmax),
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


def more_than_flops(case: SoftmaxCase) -> bool:
    """Whether softmax's share of the products' time exceeds its share of their FLOPs."""
    return case.flop_ratio is not None and over(case.time_ratio, case.flop_ratio.number)


def _ratios(columns: Mapping[str, Sequence[SoftmaxCase]]) -> dict[str, Value]:
    found = {name: median(c.time_ratio for c in mine) for name, mine in columns.items()}
    return {name: each for name, each in found.items() if each}


def cell(case: SoftmaxCase) -> Cell:
    """The ratio of times, or why there is none."""
    return case.time_ratio or words.STATES[case.state]


def flop_matrices(timed: Mapping[CaseKey, SoftmaxCase]) -> tuple[pd.DataFrame, ...]:
    """The ratio of FLOPs by case, once for all precisions, since none of them changes it."""
    first = {replace(case, case="", precision="FLOPs"): each for case, each in timed.items()}
    every = matrices(tuple(first), lambda case: first[case].flop_ratio)
    return tuple(map(_in_one_column, every))


def _in_one_column(matrix: pd.DataFrame) -> pd.DataFrame:
    """A matrix with one column for all contexts, if none of them changes a row's value."""
    numbers = ([each and each.number for each in row] for row in matrix.iloc[:, 1:].to_numpy())
    if len(matrix.columns) < 3 or any(len(set(row)) > 1 for row in numbers):
        return matrix
    return matrix.iloc[:, :2].set_axis([matrix.columns[0], "each context"], axis=1)


def flops_of(cases: Sequence[SoftmaxCase]) -> Cell:
    """The ratio of FLOPs; of cases that differ, as by the size of their heads, least to most."""
    ratios = sorted((c.flop_ratio for c in cases if c.flop_ratio), key=lambda each: each.number)
    ends = dict.fromkeys(each.number for each in ratios)
    return Joined((ratios[0], ratios[-1]), "\N{EN DASH}") if len(ends) > 1 else median(ratios)


def summary(columns: Mapping[str, Sequence[SoftmaxCase]]) -> pd.DataFrame:
    """Ratios at each precision, and how times change with it: medians over cases."""
    highest, cases = next(iter(columns.items()), ("", []))
    base = _by_place(cases)

    def medians(of: Callable[[SoftmaxCase], Value | None]) -> list[Cell]:
        return [median(map(of, mine)) for mine in columns.values()]

    def against(of: Callable[[SoftmaxCase], Value | None]) -> list[Cell]:
        others = [_against(base, mine, of) for mine in list(columns.values())[1:]]
        return [None, *others] if any(others) else []

    rows: dict[str, list[Cell]] = {
        "softmax / QK^T: time": medians(lambda c: ratio(c.softmax_ms, c.qk_ms, "times")),
        "softmax / AV: time": medians(lambda c: ratio(c.softmax_ms, c.av_ms, "times")),
        "softmax / (QK^T + AV): time": medians(lambda c: c.time_ratio),
        "softmax / (QK^T + AV): FLOPs": [flops_of(mine) for mine in columns.values()],
        "softmax: GB/s read and written (least to most)": [
            spread(c.softmax_moved for c in mine) for mine in columns.values()
        ],
        "QK^T + AV: GB/s (least to most)": [
            spread(c.moved for c in mine) for mine in columns.values()
        ],
        "around the products / (QK^T + AV): time": medians(
            lambda c: _over_products(c.beside_ms, c)
        ),
        f"softmax's time / that in {highest}": against(lambda c: c.softmax_ms),
        f"QK^T + AV's time / that in {highest}": against(lambda c: c.products_ms),
    }
    lines = [[name, *cells] for name, cells in rows.items() if any(cells)]
    return pd.DataFrame(lines, columns=["medians", *columns], dtype="object")


def _by_place(cases: Sequence[SoftmaxCase]) -> dict[CaseKey, SoftmaxCase]:
    """Cases by all that tells them apart but the precision."""
    return {replace(each.case, case="", precision=""): each for each in cases}


def _against(
    base: Mapping[CaseKey, SoftmaxCase],
    mine: Sequence[SoftmaxCase],
    of: Callable[[SoftmaxCase], Value | None],
) -> Value | None:
    """The median ratio of a time to that of the same case in `base`."""
    pairs = [(each, base[key]) for key, each in _by_place(mine).items() if key in base]
    return median(ratio(of(each), of(before), "times") for each, before in pairs)


def by_case(timed: Sequence[SoftmaxCase]) -> pd.DataFrame:
    """A row per case: times in ms, and their ratio."""
    lines = [
        [
            *(each.case.case, *each.times, each.time_ratio, each.flop_ratio),
            *(each.softmax_moved, each.moved),
        ]
        for each in timed
    ]
    heads = ["case", "softmax", "QK^T", "AV", "around the products", "softmax / (QK^T + AV)"]
    heads += ["the same: FLOPs", "softmax: GB/s", "QK^T + AV: GB/s"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def opening(columns: Mapping[str, Sequence[SoftmaxCase]]) -> tuple[OpeningRow, ...]:
    """The rows of (e) in the report's table of medians; FLOPs that are another's are "same"."""
    flops, times = {name: flops_of(mine) for name, mine in columns.items()}, _ratios(columns)
    show, first = Printer(), next(iter(flops), "")
    said: dict[str, Cell] = {
        name: SAME if name != first and show(cell) == show(flops[first]) else cell
        for name, cell in flops.items()
        if cell
    }
    return (
        OpeningRow("(e) softmax / (QK^T + AV): time", {n: times.get(n) for n in columns}),
        OpeningRow("their FLOPs", said),
    )
