"""The FLOPs and bytes of a forward pass's components: as recorded, or by formula."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workflow_src.common.case import Case
from workflow_src.model.flops import Work, forward_work
from workflow_src.studies.study import Row
from workflow_src.tables.products import products_of
from workflow_src.tables.records import families_of
from workflow_src.tables.traffic import moved_bytes, moved_on_cpu

SHAPES, FORMULA = "shapes", "formula"
"""What tells a component's bytes: the shapes and dtypes of what ran, or flops.forward_work."""

VIEWS = "bookkeeping"
"""The family of what moves nothing."""


def component_work(case: Case, launched: Mapping[str, Any] | None) -> list[Row]:
    """component, flops and bytes of each component of flops.forward_work in one forward pass.

    launched: what a point recorded of a pass (measure/operators.py); older points recorded
    nothing. With a record also work_from: SHAPES, or FORMULA where the record doesn't tell. The
    FLOPs of softmax, which multiplies nothing, are the formula's.
    """
    formula = forward_work(case)
    if launched is None:
        return [work._asdict() for work in formula]
    found = _recorded(case, launched) if launched["status"] == "ok" else {}
    return [
        found[work.component]._asdict() | {"work_from": SHAPES}
        if work.component in found
        else work._asdict() | {"work_from": FORMULA}
        for work in formula
    ]


def _recorded(case: Case, launched: Mapping[str, Any]) -> dict[str, Work]:
    """The work of the components that a record has whole, with all bytes known."""
    operators, families = launched["operators"], families_of(launched)
    again = {later for later, _ in launched["continued"]}
    calls = Counter(n for at, (n, _) in enumerate(launched["sequence"]) if at not in again)
    products = products_of(operators, case)
    moved = moved_on_cpu if case.device == "cpu" else moved_bytes
    found = {}
    for component, flops, _ in forward_work(case):
        mine = {
            number: calls[number]
            for number, each in enumerate(operators)
            if each["range"].rpartition("/")[2] == component and families[number] != VIEWS
        }
        amounts = [(moved(operators[n], families[n]), count) for n, count in mine.items()]
        known = [each * count for each, count in amounts if each is not None]
        if len(known) == len(mine) and _whole(component, mine, operators, case.layers):
            ran = sum(products[n].flops * count for n, count in mine.items() if n in products)
            found[component] = Work(component, ran or flops, sum(known))
    return found


def _whole(
    component: str, calls: Mapping[int, int], operators: Sequence[Mapping[str, Any]], layers: int
) -> bool:
    """Whether a component's operators ran equally often in each layer, as where no range was lost.

    calls: by the number of an operator. The head is in no layer.
    """
    alike: Counter[str] = Counter()
    for number, count in calls.items():
        alike[repr([operators[number][name] for name in ("operator", "shapes")])] += count
    times = 1 if component == "head" else layers
    return bool(alike) and all(count % times == 0 for count in alike.values())
