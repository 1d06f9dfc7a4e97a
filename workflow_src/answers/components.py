"""The model's components in words."""

from collections.abc import Iterable

from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS, told_apart


def components(paths: Iterable[str]) -> dict[str, str]:
    """What the paths of ranges stand for; a brought model's modules by what tells them apart."""
    known = COMPONENTS | dict.fromkeys(("", *PHASES), COMPONENTS["forward"])
    names = told_apart(paths).items()
    return {path: known.get(path.rpartition("/")[2], name) for path, name in names}


def in_model_order(names: Iterable[str]) -> list[str]:
    """Components in the model's order."""
    order = {name: place for place, name in enumerate(COMPONENTS.values())}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))
