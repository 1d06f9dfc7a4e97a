"""Matrix products of a step: which of the model's, forward or which gradient, with which sizes."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from workflow_src.common.case import AnyCase, Brought, Case
from workflow_src.common.operators import GROUPED, LAYERS, MULTIPLYING
from workflow_src.model.flops import MATMUL_COMPONENTS, forward_work

FORWARD, OF_INPUT, OF_WEIGHT = "forward", "input gradient", "weight gradient"
TRANSPOSED = "input gradient, of a transposed factor"
WITH_BACKWARD = 3
"""A backward pass has two products of the size of each forward one."""

ADD_NOTHING = GROUPED | {"aten::mm", "aten::bmm"}
"""Products whose first input is a factor, not what is added."""

IN_ATTENTION = ("scores", "values")

SHORT_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}

Operator = Mapping[str, Any]
Sizes = tuple[int, int, int, int]
"""m, n, k and the number of matrices."""


class Product(NamedTuple):
    """C = A B with A (m, k) and B (k, n), for each of `matrices` pairs.

    layout: for A, then B, n if its rows are contiguous in memory and t if its columns are; empty
    if unknown.
    """

    direction: str
    m: int
    n: int
    k: int
    matrices: int
    layout: str
    dtype: str

    @property
    def flops(self) -> int:
        """Of all pairs."""
        return 2 * self.matrices * self.m * self.n * self.k


def short_dtype(dtype: Any) -> str:
    """A dtype as tables have it; of a list of tensors each different one."""
    if isinstance(dtype, list):
        return "/".join(sorted({short_dtype(each) for each in dtype}))
    return SHORT_DTYPES.get(dtype, str(dtype))


def product_of(operator: Operator, tokens: Collection[int]) -> Product | None:
    """The product that a recorded operator computes; None if it computes none of its own.

    `tokens`: how many rows the first factor of its forward product may have, in a linear layer of
    this project's model batch x context. Over them a weight's gradient is summed. If a layer is as
    wide as there are tokens, the weight's gradient is the one whose first factor, the output's
    gradient, is transposed.
    """
    if "order" not in operator:
        return None
    (*batch, m, k), (*others, _, n) = _factors(operator, "shapes")
    if operator["operator"] in GROUPED and not others:
        batch = []  # Each of the n columns is in one group.
    strides = _factors(operator, "strides")
    layout = "".join("n" if each[-1] == 1 else "t" for each in strides)
    direction = FORWARD
    if operator["forward_operator"]:
        of_weight = layout.startswith("t") if m in tokens and k in tokens else k in tokens
        direction = OF_WEIGHT if of_weight and not batch else OF_INPUT
    return Product(direction, m, n, k, prod(batch), layout, short_dtype(operator["dtypes"][0]))


def _factors(operator: Operator, what: str) -> list[list[int]]:
    """The shapes or strides of the two factors, before an output that was given."""
    first = 0 if operator["operator"] in ADD_NOTHING else 1
    return [each for each in operator.get(what, []) if each][first : first + 2]


def products_of(operators: Sequence[Operator], case: AnyCase) -> dict[int, Product]:
    """The products among recorded operators, by number.

    A brought model's layers are known by range and order: repeated ones share these, so that
    forward products there may have several numbers of rows.
    """
    rows: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for each in operators:
        if not each["forward_operator"] and (product := product_of(each, ())):
            rows[each["range"], each["operator"], each.get("order")].add(product.m)
    tokens = None if isinstance(case, Brought) else {case.batch * case.context}
    found = {}
    for number, each in enumerate(operators):
        place = each["range"], each["forward_operator"], each.get("order")
        if product := product_of(each, tokens or rows[place]):
            found[number] = product
    return found


def fitting(case: Case) -> dict[tuple[str, Sizes], list[str]]:
    """The names of the model's products by direction and sizes, in the order in which they run.

    Several if dimensions coincide, as those of gate and up. Of a forward product C = A B the
    gradient of A is dC B^T, that of B is A^T dC. A linear layer's B is its weight transposed, and
    the gradient is computed as the weight's. Attention has no weights, so that both gradients are
    inputs'; only A^T dC has a first factor that is TRANSPOSED.
    """
    tokens, width, d_head = case.batch * case.context, case.d_model, case.d_head
    matrices = case.batch * case.heads
    forward = {
        "qkv": (tokens, 3 * width, width, 1),
        "scores": (case.context, case.context, d_head, matrices),
        "values": (case.context, d_head, case.context, matrices),
        "output": (tokens, width, width, 1),
        "gate": (tokens, case.d_ff, width, 1),
        "up": (tokens, case.d_ff, width, 1),
        "down": (tokens, width, case.d_ff, 1),
        "head": (tokens, case.vocabulary, width, 1),
    }
    found = defaultdict(list)
    for name, (m, n, k, each) in forward.items():
        of_first = (m, k, n, each)
        found[FORWARD, (m, n, k, each)].append(name)
        found[OF_INPUT, of_first].append(name)
        found[OF_WEIGHT, (n, k, m, each)].append(name)
        of_second = (k, n, m, each) if name in IN_ATTENTION else of_first
        found[TRANSPOSED, of_second].append(name)
    return found


def call_names(launched: Operator, case: AnyCase) -> dict[int, str]:
    """The name of each call of a product in a record, by its place; "" where it isn't told.

    launched: of measure/operators.py. Calls that the same names fit by size run in the model's
    order, layer after layer, in backward in reverse; unless there are as many as that makes, none
    is told.
    """
    if isinstance(case, Brought):
        return {}
    known, names_of = products_of(launched["operators"], case), fitting(case)
    again = {later for later, _ in launched["continued"]}
    alike = defaultdict(list)
    for place, (number, _) in enumerate(launched["sequence"]):
        if number in known and place not in again:
            product = known[number]
            turned = product.direction == OF_INPUT and product.layout.startswith("t")
            way = TRANSPOSED if turned else product.direction
            fit = tuple(names_of.get((way, product[1:5]), ()))
            alike[product.direction, fit].append(place)
    names: dict[int, str] = {}
    for (direction, fit), places in alike.items():
        told = len(fit) == 1 or len(places) == case.layers * len(fit)
        cycle = (fit if direction == FORWARD else fit[::-1]) if told else ("",)
        names |= {place: cycle[number % len(cycle)] for number, place in enumerate(places)}
    return names


def expected_flops(case: AnyCase, phase: str) -> int | None:
    """FLOPs of a phase's matrix products by the formulas of model/flops.py; None for a brought
    model or attention. Without fused attention's two products: its kernels are its own."""
    if isinstance(case, Brought) or case.brought_code:
        return None
    fused = IN_ATTENTION if case.attention == "sdpa" else ()
    names = [name for name in MATMUL_COMPONENTS if name not in fused]
    forward = sum(work.flops for work in forward_work(case) if work.component in names)
    return forward * (1 if phase == "forward" else WITH_BACKWARD)


def counted_flops(recorded: Operator) -> int | None:
    """FLOPs of a recorded phase's matrix products by torch's counter; None if it didn't count, or
    counted a whole layer as one, of whose products the profiler has each."""
    flops: Mapping[str, int] | None = recorded.get("counted", {}).get("flops")
    if flops is None or not LAYERS.isdisjoint(flops):
        return None
    return sum(number for name, number in flops.items() if name in MULTIPLYING)
