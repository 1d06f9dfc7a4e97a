"""The model's components in words: what a range's path stands for, and which products run there."""

from collections.abc import Iterable
from functools import cache

from workflow_src.answers.tables import Tables
from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS, Component
from workflow_src.render.value import Value, rows_of, value


@cache
def component_of(path: str) -> Component:
    """The component that a range's path stands for; one that isn't known has its range's name."""
    range_name = path.rpartition("/")[2]
    if range_name in ("", *PHASES):
        return COMPONENTS["forward"]
    return COMPONENTS.get(range_name, Component(range_name.replace("_", " ")))


def in_model_order(names: Iterable[str]) -> list[str]:
    """Names of components in the order in which the model runs them."""
    order = {component.name: place for place, component in enumerate(COMPONENTS.values())}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def layers_of(tables: Tables, case: str) -> Value | None:
    """How many layers the case's forward pass runs, from the blocks in ranges.csv.

    None if blocks have no range, or if steps differ.
    """
    mine = tables.of("ranges", case, "forward")
    blocks = mine[mine["path"] == "forward/block"]
    if blocks.empty or blocks["instances"].nunique() != 1:
        return None
    rows = rows_of("ranges", blocks)
    return value(blocks["instances"].iloc[0], "count", rows, formula="blocks a step")
