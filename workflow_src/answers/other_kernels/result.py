"""(c): the forward pass's device time besides matrix products, by component."""

from dataclasses import dataclass

from workflow_src.answers.components import in_model_order
from workflow_src.answers.kernels import captured, device_ms, multiplies, share
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.render.value import Value

PHASE = "forward"


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
    _, rows = captured(tables, case.case, PHASE)
    found = []
    for name in in_model_order(rows["component"]):
        mine = rows[rows["component"] == name]
        multiplying = multiplies(mine)
        parts = (
            device_ms(mine),
            share(mine, rows),
            share(multiplying, rows),
            share(mine.drop(multiplying.index), rows),
        )
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            found.append(ComponentShare(name, *known))
    return tuple(found)
