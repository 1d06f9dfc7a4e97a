"""What scripts need to know of a long table's rows: how cells sort, and what each row is of."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workflow_src.common.case import MAIN, VARIED
from workflow_src.common.words import PARTS, STATES

NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?(?= |$)")
"""What a cell begins with if it sorts by that."""

BLANK = {"", *(word for state, word in STATES.items() if state != "ok")}

CASE, PHASE = "case", "phase"
CHOSEN_BY = ("size", *VARIED)
"""What tells cases apart that a reader chooses by."""

PART = "part"
"""A column of phases and of parts of a step; a whole step among them is a training step."""

WHOLE = {"step": PARTS["train_step"]}


Texts = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The headings of a table, and the texts of its cells by row."""


@dataclass(frozen=True)
class Axes:
    """What long tables are filtered by.

    values: of each axis, in the order in which they sort. cases: the values of each case, in
    order; a row that names a case has them, whatever its other columns.
    """

    values: Mapping[str, Sequence[str]]
    cases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Iterable[Texts], plan: Sequence[Mapping[str, Any]]) -> "Axes":
        """Those of the cases of a plan; without a plan, those that tables name."""
        cases = {
            str(row[CASE]): {axis: str(row[axis]) for axis in CHOSEN_BY if axis in row}
            for row in plan
        }
        values = _values(list(cases.values())) if cases else _named(tables)
        return cls(values | {PHASE: list(PARTS.values())} if values else {}, cases)


def _values(cases: Sequence[Mapping[str, str]]) -> dict[str, Sequence[str]]:
    """The values of each axis. Those that aren't MAIN, such as the batch, count only if they vary.

    Nor is the context of a brought model without one, which is 0.
    """
    every = {axis: list(dict.fromkeys(case[axis] for case in cases)) for axis in cases[0]}
    return {
        axis: values
        for axis, values in every.items()
        if len(values) > 1 or (axis in MAIN and values != ["0"])
    }


def _named(tables: Iterable[Texts]) -> dict[str, Sequence[str]]:
    values: dict[str, Sequence[str]] = {}
    for heads, rows in tables:
        for axis in MAIN:
            if axis in heads:
                cells = [row[heads.index(axis)] for row in rows]
                values[axis] = list(dict.fromkeys([*values.get(axis, ()), *cells]))
    return values


def sort_keys(
    heads: Sequence[str], rows: Sequence[Sequence[str]], axes: Axes
) -> list[list[str] | None]:
    """By what the cells of each column sort; None for a column whose cells sort by their text."""
    columns = zip(*rows, strict=True) if rows else [()] * len(heads)
    return [_keys(name, cells, axes) for name, cells in zip(heads, columns, strict=True)]


def row_axes(
    heads: Sequence[str], rows: Sequence[Sequence[str]], axes: Axes
) -> list[dict[str, str]]:
    """What each row says of each axis; "" of one that it is of no one case of."""
    headings = _phased(heads, rows)
    return [_axes_of(headings, cells, axes) for cells in rows]


def _keys(name: str, cells: Sequence[str], axes: Axes) -> list[str] | None:
    """What the cells of a column sort by; None if their text does.

    What has an order sorts by its place in it, and a column of which most cells with a value begin
    with a number by that.
    """
    if all(map(_is_alone, cells)):
        return None
    order = list(axes.cases) if name == CASE else list(axes.values.get(name, ()))
    if order and any(cell in order for cell in cells):
        return [str(order.index(cell)) if cell in order else "" for cell in cells]
    numbers = [NUMBER.match(cell) for cell in cells]
    filled = sum(cell not in BLANK for cell in cells)
    if 2 * sum(map(bool, numbers)) <= filled:
        return None
    return [number[0].replace(",", "") if number else "" for number in numbers]


def _is_alone(cell: str) -> bool:
    """Whether a cell is nothing but a number or a percentage, which scripts sort by value."""
    return bool(NUMBER.fullmatch(cell.removesuffix(" %")))


def _phased(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The headings of a table, "phase" for a column of parts if phases are among them."""
    parts = {cell for row in rows for name, cell in zip(names, row, strict=True) if name == PART}
    if PHASE in names or not parts.intersection((*PARTS.values(), *WHOLE)):
        return list(names)
    return [PHASE if name == PART else name for name in names]


def _axes_of(names: Sequence[str], cells: Sequence[str], axes: Axes) -> dict[str, str]:
    """What a row says, by axis. Of two columns with one heading, that of the axis comes first."""
    row = dict(zip(reversed(names), reversed(cells), strict=True))
    own = {axis: row[axis] for axis in axes.values if row.get(axis) not in (None, *BLANK)}
    if CASE in row and axes.cases:
        nothing = {axis: "" for axis in axes.values if axis in CHOSEN_BY}
        own = {**nothing, **own, **axes.cases.get(row[CASE], {})}
    own |= {PHASE: WHOLE.get(own[PHASE], own[PHASE])} if PHASE in own else {}
    return {axis: own[axis] for axis in axes.values if axis in own}
