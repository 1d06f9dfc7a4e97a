"""The layouts of matrix products in forward and in backward, as kernels' names give them."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.answers import evidence, kernel_words
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row, row_numbers

SIDES = ("forward", "backward")

UNTOLD = 0.5
"""Layouts are known where at most this share of the time is of kernels that don't tell theirs."""


def measure(case: Row, kernels: pd.DataFrame) -> Row:
    """One case's time in matrix products, in forward and in backward, by layout.

    Both sides are of phase forward_backward. `times` holds ms a step by (side, layout), `rows`
    the row numbers; layout "" stands for names that don't tell it.
    """
    mine = evidence.of(kernels, case["case"], "forward_backward")
    mine = mine[mine["family"] == "gemm"]
    side = mine["path"].map(lambda path: SIDES["backward" in str(path).split("/")])
    found = case | {"times": {}, "rows": {}}
    for (where, layout), rows in mine.groupby([side, mine["name"].map(kernel_words.layout)]):
        found["times"][where, layout] = float(rows["busy_ns"].sum() / rows["steps"].max() / 1e6)
        found["rows"][where, layout] = row_numbers(rows)
    return found


def facts_of(row: Row) -> list[Fact]:
    """The times as facts."""
    return [
        Fact(
            row["case"],
            f"{side}/matrix products/{layout or 'layout unknown'}",
            ms,
            "ms",
            "kernels",
            row["rows"][side, layout],
        )
        for (side, layout), ms in row["times"].items()
    ]


def total(row: Row, side: str) -> float:
    """A case's time in matrix products on one side, in ms a step."""
    return float(sum(ms for (where, _), ms in row["times"].items() if where == side))


def shares(row: Row, side: str) -> dict[str, float]:
    """Each layout's share of a side's matrix products; empty without any."""
    whole = total(row, side)
    times = {layout: ms for (where, layout), ms in row["times"].items() if where == side}
    return {layout: ms / whole for layout, ms in times.items()} if whole > 0 else {}


def known(rows: Sequence[Row]) -> list[Row]:
    """The cases with matrix products on both sides whose names tell layouts for most of them."""
    return [
        row
        for row in rows
        if all(found and found.get("", 0.0) < UNTOLD for found in (shares(row, s) for s in SIDES))
    ]
