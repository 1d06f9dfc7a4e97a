"""A case's forward pass: its device time in matrix products and besides, by component."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from workflow_src.answers.components import in_model_order
from workflow_src.answers.kernels import (
    PRODUCTS,
    captured,
    device_ms,
    grouped,
    multiplies,
    share,
)
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.paper.value import Value

PHASE = "forward"


@dataclass(frozen=True)
class Pass:
    """A case's forward pass: the state of its capture, and its rows of `device_rows`."""

    case: CaseKey
    state: str
    rows: pd.DataFrame

    @cached_property
    def others(self) -> pd.DataFrame:
        """The rows besides matrix products (fused attention counts as one)."""
        return self.rows[~self.rows["family"].isin(PRODUCTS)]

    @cached_property
    def by_component(self) -> dict[str, pd.DataFrame]:
        """The rows besides products by component, most time first."""
        return grouped(self.others, "component")

    def share(self, rows: pd.DataFrame | None) -> Value | None:
        """The share of device time of some of its rows; 0 of none."""
        return share(self.rows.iloc[:0] if rows is None else rows, self.rows)


def forward_pass(tables: Tables, case: CaseKey) -> Pass:
    """A case's forward pass; without rows if it wasn't captured."""
    return Pass(case, *captured(tables, case.case, PHASE))


@dataclass(frozen=True)
class ComponentShare:
    """A component's device time (ms) a pass, and its share of the pass's.

    `products` and `besides` are parts of `share`: its matrix products, and all else in it.
    """

    name: str
    ms: Value
    share: Value
    products: Value
    besides: Value


def components_of_case(tables: Tables, case: CaseKey) -> tuple[ComponentShare, ...]:
    """The components of a case's forward pass, in the model's order; none if none was captured."""
    return components(forward_pass(tables, case))


def components(found: Pass) -> tuple[ComponentShare, ...]:
    """The components of a forward pass, in the model's order."""
    groups = grouped(found.rows, "component")
    parts = (_part(found, name, groups[name]) for name in in_model_order(groups))
    return tuple(part for part in parts if part)


def _part(found: Pass, name: str, rows: pd.DataFrame) -> ComponentShare | None:
    ms, whole, products = device_ms(rows), found.share(rows), found.share(multiplies(rows))
    besides = found.share(found.by_component.get(name))
    if ms is None or whole is None or products is None or besides is None:
        return None
    return ComponentShare(name, ms, whole, products, besides)
