"""The tables of times, of errors, and of what wasn't measured."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.paper.value import Cell, Joined, Marked, Value, merged
from workflow_src.studies.flash.named import ELSEWHERE, ONCE, is_wrong, name, once
from workflow_src.studies.lines import Line, by_host, grouped, most, shown


def in_order(every: Sequence[Line], *columns: str) -> list[list[Line]]:
    """Lines grouped by these columns, in the order of the precision and then of numbers."""
    precisions = list(dict.fromkeys(line.text("precision") for line in every))

    def place(mine: Sequence[Line]) -> tuple[float, ...]:
        numbers = (mine[0].amount(column) for column in columns if column != "precision")
        return precisions.index(mine[0].text("precision")), *numbers

    return sorted(grouped(every, *columns), key=place)


def times_table(
    groups: Sequence[Sequence[Line]],
    columns: Sequence[str],
    phases: Sequence[str],
    checks: Sequence[Line] = (),
) -> pd.DataFrame:
    """A row per group, told by some columns: of each implementation, the times of phases.

    They are in one cell; why there is none, once, if that is true of all. Of one's own that is
    wrong, as the checks say, that. What is of another host than most is marked.
    """
    rows, host = [], usual_host(groups)
    for mine in groups:
        first, row = mine[0], dict[str, Cell]()
        for column in columns:
            told = first.text(column) if column == "precision" else first.whole(column)
            row[column.replace("head_size", "d")] = told
        for of_one in grouped(mine, "implementation"):
            by_phase = {line.text("phase"): line for line in of_one}
            whole = by_phase.get("forward_backward")
            cells = tuple(_cell(by_phase.get(phase), whole) for phase in phases)
            alike = isinstance(cells[0], str) and len(set(cells)) == 1
            cell = cells[0] if alike else Joined(cells)
            there = alike or of_one[0].text("host_id") in ("", host)
            row[name(of_one[0])] = cell if there else Marked(cell, ELSEWHERE)
        at = first.text("precision")
        wrong = [line for line in checks if is_wrong(line) and line.text("precision") == at]
        rows.append(row | {name(line): "not right" for line in wrong if name(line) not in row})
    return shown(rows)


def usual_host(groups: Sequence[Sequence[Line]]) -> str:
    """The host of most lines that name one; "" if none does."""
    named = by_host(line for mine in groups for line in mine if line.text("host_id"))
    return named[0][0].text("host_id") if named else ""


def _cell(line: Line | None, whole: Line | None) -> Cell:
    """A time, marked if it is of one call, or why there is none.

    None of a backward pass that rests on one call or takes longer than both passes.
    """
    if line is None or not line.time:
        return line and line.state
    if line.text("phase") == "backward" and (once(line) or _longer(line, whole)):
        return None
    return Marked(line.time, ONCE) if once(line) else line.time


def _longer(part: Line, whole: Line | None) -> bool:
    if whole is None or not whole.has("median_ms"):
        return False
    return part.amount("median_ms") > whole.amount("median_ms")


def check(mine: Sequence[Line]) -> dict[str, Cell]:
    """The largest errors of an implementation over head sizes, and the precision that they tell."""
    row: dict[str, Cell] = {"attention": name(mine[0]), "precision": mine[0].text("precision")}
    for tensor in ("out", "dq", "dk", "dv"):
        row[tensor] = most(line.measured(f"error_{tensor}", "error") for line in mine)
    row["allowed"] = mine[0].value("error_allowed", "error")
    told = dict.fromkeys(line.text("products_in") for line in mine if line.text("products_in"))
    return row | {"products in": ", ".join(told) or None}


def unmeasured_table(every: Sequence[Line]) -> pd.DataFrame:
    """A row per implementation, precision, phase and state, with the first reason."""
    missing = [line for line in every if not line.ok]
    groups = grouped(missing, "implementation", "precision", "phase", "status")
    return shown(
        [
            {
                "attention": name(mine[0]),
                "precision": mine[0].text("precision"),
                "phase": mine[0].phase or None,
                "state": mine[0].state,
                "why, the first time": mine[0].text("reason") or None,
                "rows": Value(len(mine), "count", merged(line.rows for line in mine), "count"),
            }
            for mine in groups
        ]
    )
