"""What scripts need to know of a long table's rows: how cells sort, and what each row is of."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from workflow_src.common.case import MAIN, VARIED
from workflow_src.common.words import PARTS, STATES

LONG = re.compile(r'<table class="long">.*?</table>', re.DOTALL)
ROW = re.compile(r"<tr([^>]*)>(.*?)</tr>", re.DOTALL)
HEADING = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
CELL = re.compile(r"<td([^>]*)>(.*?)</td>", re.DOTALL)

NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?(?= |$)")
"""What a cell begins with if it sorts by that."""

BLANK = {"", *(word for state, word in STATES.items() if state != "ok")}

CASE, PHASE = "case", "phase"
CHOSEN_BY = ("size", *VARIED)
"""What tells cases apart that a reader chooses by."""

PART = "part"
"""A column of phases and of parts of a step; a whole step among them is a training step."""

WHOLE = {"step": PARTS["train_step"]}


@dataclass(frozen=True)
class Axes:
    """What long tables are filtered by.

    values: of each axis, in the order in which they sort. cases: the values of each case, in
    order; a row that names a case has them, whatever its other columns.
    """

    values: Mapping[str, Sequence[str]]
    cases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, body: str, plan: Sequence[Mapping[str, Any]]) -> "Axes":
        """Those of the cases of a plan; without a plan, those that the tables of a page name."""
        cases = {
            str(row[CASE]): {axis: str(row[axis]) for axis in CHOSEN_BY if axis in row}
            for row in plan
        }
        found = _values(list(cases.values())) if cases else _named(body)
        return cls(found | {PHASE: list(PARTS.values())} if found else {}, cases)


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


def _named(body: str) -> dict[str, Sequence[str]]:
    found: dict[str, Sequence[str]] = {}
    for table in LONG.findall(body):
        names, rows = _read(table)
        for axis in MAIN:
            if axis in names:
                cells = [row[names.index(axis)] for row in rows]
                found[axis] = list(dict.fromkeys([*found.get(axis, ()), *cells]))
    return found


def with_data(body: str, axes: Axes) -> str:
    """A page with each long table's data attributes.

    data-order of a cell is what it sorts by, if that isn't its text; "" sorts last. A row has what
    it says of each axis under the axis's name, such as data-size; "" if it is of no one case.
    """
    return LONG.sub(lambda match: _with_data(match[0], axes), body)


def _with_data(table: str, axes: Axes) -> str:
    names, rows = _read(table)
    if not rows:
        return table
    headings = _phased(names, rows)
    turned = zip(*rows, strict=True)
    columns = [_keys(name, cells, axes) for name, cells in zip(names, turned, strict=True)]
    head, mark, body = table.partition("<tbody>")
    places = count()

    def row(match: re.Match[str]) -> str:
        place = next(places)
        keys = iter(columns)
        cells = CELL.sub(lambda cell: _ordered(cell, next(keys), place), match[2])
        about = _attributes(_about(headings, rows[place], axes))
        return f"<tr{match[1]}{about}>{cells}</tr>"

    return head + mark + ROW.sub(row, body)


def _read(table: str) -> tuple[list[str], list[list[str]]]:
    """The headings of a table and the texts of its cells."""
    head, _, body = table.partition("<tbody>")
    rows = [[_text(cell) for _, cell in CELL.findall(row)] for _, row in ROW.findall(body)]
    return [_text(heading) for heading in HEADING.findall(head)], rows


def _text(inner: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", inner)).strip()


def _ordered(cell: re.Match[str], keys: Sequence[str] | None, place: int) -> str:
    return f'<td{cell[1]} data-order="{keys[place]}">{cell[2]}</td>' if keys else cell[0]


def _attributes(about: Mapping[str, str]) -> str:
    return "".join(f' data-{axis}="{html.escape(value)}"' for axis, value in about.items())


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


def _about(names: Sequence[str], cells: Sequence[str], axes: Axes) -> dict[str, str]:
    """What a row says, by axis. Of two columns with one heading, that of the axis comes first."""
    row = dict(zip(reversed(names), reversed(cells), strict=True))
    own = {axis: row[axis] for axis in axes.values if row.get(axis) not in (None, *BLANK)}
    if CASE in row and axes.cases:
        nothing = {axis: "" for axis in axes.values if axis in CHOSEN_BY}
        own = {**nothing, **own, **axes.cases.get(row[CASE], {})}
    own |= {PHASE: WHOLE.get(own[PHASE], own[PHASE])} if PHASE in own else {}
    return {axis: own[axis] for axis in axes.values if axis in own}
