"""(d): the share of matrix products in forward passes and training steps, and what changes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.example import at_each_precision, example
from workflow_src.answers.gemm_share.backward import by_component
from workflow_src.answers.gemm_share.change import (
    AFTER,
    BACKWARD,
    BEFORE,
    PARTS,
    Change,
    by_part,
    change,
)
from workflow_src.answers.gemm_share.layouts import layouts
from workflow_src.answers.gemm_share.step_rates import MARKED_GB, step_cell
from workflow_src.answers.kernels import captured, device_ms, product_share
from workflow_src.answers.left_out import NOTHING_KNOWN, left_out, without_disturbed
from workflow_src.answers.matrix import in_columns, matrices
from workflow_src.answers.parts import Part, parts_table
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common import words
from workflow_src.paper.value import Cell, Joined, Value, count, median

WHOLE = "whole step"


@dataclass(frozen=True)
class GemmShare:
    """What (d) found.

    The counts are of cases: `compared` have both shares; `known` are those whose share falls and
    whose step's parts are known, `by_optimizer` and `by_backward` those of them in which that
    lowers it more. `optimizers` have the optimizer's time and share of a step. `parts` is the
    example's step at each of its precisions, `layouts` the time per FLOP of backward's products
    against forward's, `backward` a row per component, `by_case` one per compared case; `rates` are
    a step's FLOPs, their rate, and peak memory, marked where it is over `marked_gb`.
    """

    changes: tuple[Change, ...]
    compared: Value
    falling: Value
    rising: Value
    known: Value
    by_optimizer: Value
    by_backward: Value
    matrices: tuple[pd.DataFrame, ...]
    optimizers: tuple[pd.DataFrame, ...]
    rates: tuple[pd.DataFrame, ...]
    marked_gb: int
    summary: pd.DataFrame
    example: CaseKey | None
    parts: pd.DataFrame
    layouts: pd.DataFrame
    backward: pd.DataFrame
    by_case: pd.DataFrame
    opening: tuple[OpeningRow, ...]
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)
    only_disturbed: bool = False


def result(tables: Tables) -> GemmShare:
    """Answer (d) from timings, captures, kernels and, where there are any, products, operators."""
    changes = {case: change(tables, case) for case in tables.cases}
    every, chosen = tuple(changes.values()), example(tables)
    counted = undisturbed(tables)
    columns = in_columns(counted, changes)
    compared = [changes[case] for case in counted if changes[case].points]
    known = [each for each in compared if each.falls and each.more_by_optimizer is not None]
    shared = any(each.forward or each.step for each in every)
    return GemmShare(
        changes=every,
        compared=count(each.points for each in compared),
        falling=count(each.points for each in compared if each.falls),
        rising=count(each.points for each in compared if each.rises),
        known=count(each.by_optimizer for each in known),
        by_optimizer=count(each.by_optimizer for each in known if each.more_by_optimizer),
        by_backward=count(each.by_backward for each in known if not each.more_by_optimizer),
        matrices=matrices(tables.cases, lambda case: cell(changes[case])) if shared else (),
        optimizers=matrices(tables.cases, lambda case: optimizer_cell(changes[case])),
        rates=matrices(tables.cases, lambda case: step_cell(tables, case)),
        marked_gb=MARKED_GB,
        summary=summary(columns),
        example=chosen,
        parts=_parts(tables, at_each_precision(tables, chosen)),
        layouts=layouts(tables),
        backward=by_component(tables),
        by_case=by_case(compared),
        opening=opening(columns),
        left_out=left_out(
            tables,
            without_disturbed(tables, {case: _state(each) for case, each in changes.items()}),
        ),
        only_disturbed=not compared and any(each.points for each in every),
    )


def _state(each: Change) -> str:
    """Why a case lacks one of the shares, by the first phase that does; "ok" if it has both."""
    if each.points:
        return "ok"
    lacking = (
        f"{words.PHASES[phase]}: {words.STATES[state]}"
        for phase, state in zip((BEFORE, AFTER), each.states, strict=True)
        if state != "ok"
    )
    return next(lacking, NOTHING_KNOWN)


def parts_of_case(tables: Tables, case: CaseKey, phase: str = AFTER) -> tuple[Part, ...]:
    """The parts of a step that take time, in their order, with the share of matrix products.

    None unless backward has a range of its own.
    """
    _, rows = captured(tables, case.case, phase)
    groups = by_part(rows)
    found = groups.items() if BACKWARD in groups else ()
    return tuple(part for name, mine in found for part in _part(name, mine))


def _part(name: str, rows: pd.DataFrame) -> list[Part]:
    ms, share = device_ms(rows), product_share(rows)
    return [Part(name, ms, share)] if ms and ms.number and share else []


def _parts(tables: Tables, cases: Sequence[CaseKey]) -> pd.DataFrame:
    """The parts of some cases' steps, and the whole of each."""
    steps = {
        case.precision: (*parts, *_part(WHOLE, captured(tables, case.case, AFTER)[1]))
        for case in cases
        if (parts := parts_of_case(tables, case))
    }
    return parts_table(("part", "products"), (*PARTS, WHOLE), steps)


def cell(each: Change) -> Cell:
    """Both shares, or why there is none."""
    shares = zip((each.forward, each.step), each.states, strict=True)
    first, second = (
        share or words.STATES["" if state == "ok" else state] for share, state in shares
    )
    return first if first == second else Joined((first, second))


def optimizer_cell(each: Change) -> Cell:
    """The optimizer's device time and its share of the step's; or why there is none."""
    if each.optimizer is None:
        state = each.states[1]
        return words.STATES[state] if state != "ok" else None
    return Joined((each.optimizer.ms, each.optimizer.share), " ms, ")


def summary(columns: Mapping[str, Sequence[Change]]) -> pd.DataFrame:
    """How the share changes at each precision, and what changes it: medians over cases."""
    rows: dict[str, list[Cell]] = {
        "cases whose share falls by over 1 point": [_falling(mine) for mine in columns.values()],
        "the share changes by, points": _medians(columns, "points"),
        "backward changes it by, points": _medians(columns, "by_backward"),
        "the optimizer changes it by, points": _medians(columns, "by_optimizer"),
        "the optimizer's share of the step": _medians(columns, "optimizers_share"),
        "products, backward / forward": _medians(columns, "products_times"),
        "all else, backward / forward": _medians(columns, "else_times"),
    }
    lines = [[name, *cells] for name, cells in rows.items() if any(cells)]
    return pd.DataFrame(lines, columns=["medians", *columns], dtype="object")


def _medians(columns: Mapping[str, Sequence[Change]], name: str) -> list[Cell]:
    return [median(getattr(each, name) for each in mine) for mine in columns.values()]


def _falling(mine: Sequence[Change]) -> Cell:
    compared = [each.points for each in mine if each.points]
    falling = count(each.points for each in mine if each.falls)
    return Joined((falling, count(compared)), by=" of ") if compared else None


def by_case(compared: Sequence[Change]) -> pd.DataFrame:
    """A row per case: both shares, and by how many points each part changes it."""
    lines = [
        [each.case.case, each.forward, each.step, each.by_backward, each.by_optimizer]
        for each in compared
    ]
    heads = ["case", "in forward", "in the training step", "by backward", "by the optimizer"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def opening(columns: Mapping[str, Sequence[Change]]) -> tuple[OpeningRow, ...]:
    """The row of (d) in the report's table of medians."""
    cells: dict[str, Cell] = {}
    for precision, mine in columns.items():
        both = [each for each in mine if each.points]
        pair = median(each.forward for each in both), median(each.step for each in both)
        cells[precision] = Joined(pair) if both else None
    return (OpeningRow("(d) products' share: forward \N{RIGHTWARDS ARROW} training step", cells),)
