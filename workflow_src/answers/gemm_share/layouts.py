"""How fast matrix products run by layout, and backward's against forward's per FLOP."""

from collections.abc import Mapping, Sequence

import pandas as pd

from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.matrix import by_precision
from workflow_src.answers.tables import Tables
from workflow_src.common.units import FLOP_PER_TFLOP, MS_PER_S
from workflow_src.paper.value import Cell, Joined, Value, median, rows_of, value

PHASE = "train_step"
FORWARD = "forward"
DIRECTIONS = ("input gradient", "weight gradient")
GROUP = ["product", "direction", "layout"]


def layouts(tables: Tables) -> pd.DataFrame:
    """A row per direction and layout, a column per precision: medians over cases.

    A cell has the time per FLOP over that in forward, and the rate. Empty where products.csv
    doesn't tell layouts.
    """
    products = {
        precision: [tables.of("products", case.case, PHASE) for case in mine]
        for precision, mine in by_precision(undisturbed(tables)).items()
    }
    paces = {precision: [by_layout(rows) for rows in mine] for precision, mine in products.items()}
    speeds = {precision: [rates(rows) for rows in mine] for precision, mine in products.items()}
    names = sorted({name for mine in paces.values() for found in mine for name in found})
    first = sorted({name for mine in speeds.values() for found in mine for name in found})
    rows = [name for name in first if name[0] == FORWARD and names] + names
    lines = [
        [*name, *(_cell(paces[precision], speeds[precision], name) for precision in products)]
        for name in rows
    ]
    return pd.DataFrame(lines, columns=["product", "layout", *products], dtype="object")


Layouts = Mapping[tuple[str, str], Value]
"""Values by direction and layout."""


def _cell(paces: Sequence[Layouts], speeds: Sequence[Layouts], name: tuple[str, str]) -> Cell:
    pace, rate = (median(found.get(name) for found in each) for each in (paces, speeds))
    return Joined((pace, rate), ", ") if pace else rate


def rates(products: pd.DataFrame) -> dict[tuple[str, str], Value]:
    """The TFLOP/s of the products of each direction and layout, of one case's products.csv."""
    found: dict[tuple[str, str], Value] = {}
    for (direction, layout), mine in _told(products).groupby(["direction", "layout"]):
        flops, ms = mine["flops_per_step"].sum(), mine["busy_ms_per_step"].sum()
        rate = value(flops / (ms / MS_PER_S) / FLOP_PER_TFLOP, "TFLOP/s", rows_of("products", mine))
        found |= {(str(direction), str(layout)): rate} if rate else {}
    return found


def by_layout(products: pd.DataFrame) -> dict[tuple[str, str], Value]:
    """How many times forward's time per FLOP those of each direction and layout take.

    `products`: one case's rows of products.csv. Forward's is that of the same products.
    """
    told = _told(products)
    forward = told[told["direction"] == "forward"]
    sums = forward.groupby("product")[["busy_ms_per_step", "flops_per_step"]].sum()
    pace = told["product"].map(sums["busy_ms_per_step"] / sums["flops_per_step"])
    told = told.assign(expected=told["flops_per_step"] * pace)
    found = {}
    for direction in DIRECTIONS:
        for layout, mine in told[told["direction"] == direction].groupby("layout"):
            same = forward[forward["product"].isin(mine["product"])]
            if times := _against(mine, same):
                found[direction, str(layout)] = times
    return found


def _told(products: pd.DataFrame) -> pd.DataFrame:
    """The rows of products of known layout and FLOPs.

    A kernel that adds up the parts of a product that was split has none, but its time is the
    product's: FLOPs are asked for of all rows of a product together.
    """
    if "layout" not in products:
        return pd.DataFrame(columns=[*GROUP, "busy_ms_per_step", "flops_per_step"])
    told = products[(products["layout"] != "") & (products["busy_ms_per_step"] > 0)]
    return told[told.groupby(GROUP)["flops_per_step"].transform("sum") > 0]


def _against(mine: pd.DataFrame, forward: pd.DataFrame) -> Value | None:
    """The time of `mine` over that of as many FLOPs in `forward`."""
    expected = mine["expected"].sum(skipna=False)
    if not expected > 0:
        return None
    rows = rows_of("products", pd.concat([mine, forward]))
    formula = "time / time of as many FLOPs of the same products in forward"
    return value(mine["busy_ms_per_step"].sum() / expected, "times", rows, formula=formula)
