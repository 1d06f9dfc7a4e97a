"""The model's components in words: what a range's path stands for, and which products run there."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from workflow_src.answers.tables import Tables
from workflow_src.common.case import PHASES
from workflow_src.render.value import Value, rows_of, value


@dataclass(frozen=True)
class Component:
    """A component's name in tables, and how a sentence calls the matrix products in it."""

    name: str
    product: str = ""

    @property
    def place(self) -> str:
        """The component as a place: "in {place}"."""
        return self.product or self.name


COMPONENTS = {
    "embedding": Component("embedding"),
    "norm": Component("norms"),
    "qkv": Component("q/k/v projections"),
    "rotary": Component("rotary positions"),
    "scores": Component("scores and mask", "QK^T"),
    "softmax": Component("softmax"),
    "values": Component("values", "AV"),
    "sdpa": Component("fused attention"),
    "output": Component("attention output projection"),
    "attention": Component("attention, elsewhere"),
    "feed_forward": Component("feed-forward"),
    "block": Component("residual additions"),
    "head": Component("output head"),
    "forward": Component("elsewhere"),
    "loss": Component("loss"),
    "backward": Component("backward"),
}
"""Components by the name of their range, in the order in which the model runs them.

The model's blocks hold nothing besides their sublayers but the two residual additions.
"""


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
