"""Backward by component: the device time of gradients, by the component whose gradient they are."""

from collections.abc import Iterable

import pandas as pd

from workflow_src.answers.components import in_model_order, with_components
from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.kernels import PRODUCTS
from workflow_src.answers.matrix import by_precision
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.thresholds import LEAST_SHARE_SHOWN
from workflow_src.paper.value import Cell, Joined, Value, median, ratio, rows_of, value

PHASE = "forward_backward"


def by_component(tables: Tables) -> pd.DataFrame:
    """A row per component: its share of backward, and what of it isn't products, in medians.

    By operators.csv, which knows the forward operator of each gradient. What backward does besides,
    such as summing gradients, is left out. Empty without that table.
    """
    columns = {
        precision: [found for case in mine if not (found := gradients(tables, case)).empty]
        for precision, mine in by_precision(undisturbed(tables)).items()
    }
    names = {name for mine in columns.values() for found in mine for name in found["component"]}
    rows: list[list[Cell]] = []
    for name in in_model_order(names):
        shares = [_shares(mine, name) for mine in columns.values()]
        if any(whole and whole.number >= LEAST_SHARE_SHOWN for whole, _ in shares):
            rows.append([name, *(Joined(both, " / ") if all(both) else None for both in shares)])
    return pd.DataFrame(rows, columns=["component", *columns], dtype="object")


def gradients(tables: Tables, case: CaseKey) -> pd.DataFrame:
    """The rows of operators.csv that are gradients, with the component that each is of."""
    rows = tables.of("operators", case.case, PHASE)
    if "forward_operator" not in rows:
        return pd.DataFrame()
    mine = rows[rows["forward_operator"].astype(str) != ""]
    return with_components(tables, mine)


def _shares(cases: Iterable[pd.DataFrame], name: str) -> tuple[Value | None, Value | None]:
    """A component's share of backward, and what of all backward is in it besides products."""
    whole, besides = [], []
    for found in cases:
        mine = found[found["component"] == name]
        total = _ms(found)
        whole.append(ratio(_ms(mine), total, "share", "component / backward"))
        others = mine[~mine["family"].isin(PRODUCTS)]
        besides.append(ratio(_ms(others), total, "share", "besides products / backward"))
    return median(whole), median(besides)


def _ms(rows: pd.DataFrame) -> Value | None:
    total = rows["busy_ms_per_step"].to_numpy().sum()
    return value(total, "ms", rows_of("operators", rows), formula="sum over operators")
