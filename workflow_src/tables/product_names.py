"""Which of the model's matrix products one is: by its sizes, then by order and by range."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from workflow_src.common.case import AnyCase, Brought, Case
from workflow_src.tables.products import FORWARD, OF_WEIGHT, Product, product_of

FEED_FORWARD = "feed_forward"
"""The only range of the model with several products."""

IN_FEED_FORWARD = ("gate", "up", "down")
IN_ATTENTION = ("scores", "values")
GATE_OR_UP = "gate or up"
"""The name of a product that is one of the two, which have the same sizes."""

NAMES = ("qkv", *IN_ATTENTION, "output", *IN_FEED_FORWARD, "head")
"""The products in the order in which the model runs them: each once per layer, and the head."""

KNOWN = frozenset((*NAMES, GATE_OR_UP))
"""What says which product one is; other names are those of ranges with several."""

Sizes = tuple[int, int, int, int]
"""m, n, k and the number of matrices."""


def fitting(product: Product, case: AnyCase) -> tuple[str, ...]:
    """The names of the model's products that have these sizes, in the model's order.

    More than one if the model's dimensions coincide, and for gate and up, which are always alike;
    none for a brought model.
    """
    if isinstance(case, Brought):
        return ()
    sizes = (product.m, product.n, product.k, product.matrices)
    of_forward = _sizes(case)
    return tuple(name for name in NAMES if sizes in _turned(name, of_forward[name], product))


def _sizes(case: Case) -> dict[str, Sizes]:
    """The sizes of each product in a forward pass."""
    tokens, width, d_head = case.batch * case.context, case.d_model, case.d_head
    matrices = case.batch * case.heads
    return {
        "qkv": (tokens, 3 * width, width, 1),
        "scores": (case.context, case.context, d_head, matrices),
        "values": (case.context, d_head, case.context, matrices),
        "output": (tokens, width, width, 1),
        "gate": (tokens, case.d_ff, width, 1),
        "up": (tokens, case.d_ff, width, 1),
        "down": (tokens, width, case.d_ff, 1),
        "head": (tokens, case.vocabulary, width, 1),
    }


def _turned(name: str, sizes: Sizes, product: Product) -> list[Sizes]:
    """The sizes that a product C = A B of the forward pass has in the direction of `product`.

    The gradient of A is dC B^T, that of B is A^T dC. A linear layer's B is its weight transposed,
    and the gradient is computed as the weight's. Attention has no weights, so that both gradients
    are inputs'; only A^T dC has a first factor that is transposed.
    """
    m, n, k, matrices = sizes
    if product.direction == FORWARD:
        return [sizes]
    if product.direction == OF_WEIGHT:
        return [(n, k, m, matrices)]
    of_first, of_second = (m, k, n, matrices), (k, n, m, matrices)
    if name not in IN_ATTENTION:
        return [of_first]
    if not product.layout:
        return [of_first, of_second]
    return [of_second if product.layout.startswith("t") else of_first]


def in_order(found: Sequence[tuple[Product, Sequence[str]]], layers: int) -> list[str]:
    """The name of each product of a whole step, or "" where neither sizes nor order tell it.

    `found`: the step's products in the order of their calls, with the names that fit each. Those
    with the same ones run in the model's order, layer after layer, and in a backward pass in the
    reverse order; unless there are as many as that makes, none of them is told.
    """
    names = [""] * len(found)
    alike = defaultdict(list)
    for place, (product, fit) in enumerate(found):
        alike[product.direction, tuple(fit)].append(place)
    for (direction, fit), places in alike.items():
        if len(fit) == 1 or len(places) == layers * len(fit):
            cycle = fit if direction == FORWARD else fit[::-1]
            for number, place in enumerate(places):
                names[place] = cycle[number % len(cycle)]
    return names


def named(fit: Sequence[str], said: str) -> str:
    """The name among those that `fit` by size, or `said` where that leaves it open.

    said: the last part of a range's path, which is a product's name or contains several products.
    """
    inside = [name for name in fit if said != FEED_FORWARD or name in IN_FEED_FORWARD] or fit
    if said in fit:
        return said
    if len(inside) == 1:
        return inside[0]
    return GATE_OR_UP if tuple(inside) == IN_FEED_FORWARD[:2] else said


def named_by_range(product: Product, path: str, module: str, case: AnyCase) -> str:
    """The name that sizes and the range with this path tell; of a brought model, its module's."""
    if isinstance(case, Brought):
        return module
    return named(fitting(product, case), path.rpartition("/")[2])


def products_of(operators: Sequence[Mapping[str, Any]], case: AnyCase) -> dict[int, Product]:
    """The products among recorded operators, by the number of each."""
    if isinstance(case, Brought):
        rows = _rows_of_forward(operators)
        tokens = [rows[_place(each, each["forward_operator"])] for each in operators]
    else:
        tokens = [{case.batch * case.context}] * len(operators)
    found = [product_of(*pair) for pair in zip(operators, tokens, strict=True)]
    return {number: each for number, each in enumerate(found) if each}


def _rows_of_forward(operators: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, ...], set[int]]:
    """How many rows the first factors of the forward products at a place have.

    Repeated layers share their ranges, so there may be several.
    """
    found: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for each in operators:
        if not each["forward_operator"] and (product := product_of(each, ())):
            found[_place(each, each["operator"])].add(product.m)
    return found


def _place(operator: Mapping[str, Any], forward: str) -> tuple[Any, ...]:
    return operator["range"], forward, operator.get("order")


def call_names(launched: Mapping[str, Any], case: AnyCase) -> dict[int, str]:
    """The name of each call of a product in a record, by its place; "" where it isn't told.

    launched: what measure/operators.py records of a step.
    """
    if isinstance(case, Brought):
        return {}
    known = products_of(launched["operators"], case)
    again = {later for later, _ in launched["continued"]}
    places = [
        (place, known[number])
        for place, (number, _) in enumerate(launched["sequence"])
        if number in known and place not in again
    ]
    names = in_order([(each, fitting(each, case)) for _, each in places], case.layers)
    return dict(zip((place for place, _ in places), names, strict=True))
