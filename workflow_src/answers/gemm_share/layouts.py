"""The time per FLOP of backward's matrix products against forward's, by the layout they are in."""

from collections.abc import Mapping, Sequence

import pandas as pd

from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.matrix import by_precision
from workflow_src.answers.tables import Tables
from workflow_src.render.value import Cell, Value, median, rows_of, value

PHASE = "train_step"
DIRECTIONS = ("input gradient", "weight gradient")


def layouts(tables: Tables) -> pd.DataFrame:
    """A row per direction and layout, a column per precision: medians over cases.

    Empty where products.csv doesn't tell layouts.
    """
    columns = {
        precision: [by_layout(tables.of("products", case.case, PHASE)) for case in mine]
        for precision, mine in by_precision(undisturbed(tables)).items()
    }
    names = sorted({name for mine in columns.values() for found in mine for name in found})
    lines = [[*name, *(_median(mine, name) for mine in columns.values())] for name in names]
    return pd.DataFrame(lines, columns=["product", "layout", *columns], dtype="object")


def _median(mine: Sequence[Mapping[tuple[str, str], Value]], name: tuple[str, str]) -> Cell:
    return median(found.get(name) for found in mine)


def by_layout(products: pd.DataFrame) -> dict[tuple[str, str], Value]:
    """How many times forward's time per FLOP those of each direction and layout take.

    `products`: one case's rows of products.csv. Forward's is that of the same products.
    """
    if "layout" not in products:
        return {}
    told = products[(products["layout"] != "") & (products["flops_per_step"] > 0)]
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


def _against(mine: pd.DataFrame, forward: pd.DataFrame) -> Value | None:
    """The time of `mine` over that of as many FLOPs in `forward`."""
    expected = mine["expected"].sum(skipna=False)
    if not expected > 0:
        return None
    rows = rows_of("products", pd.concat([mine, forward]))
    formula = "time / time of as many FLOPs of the same products in forward"
    return value(mine["busy_ms_per_step"].sum() / expected, "times", rows, formula=formula)
