"""What takes the most device time in one part of one case's step."""

from dataclasses import dataclass
from itertools import chain

import pandas as pd

from workflow_src.answers.components import layers_of
from workflow_src.answers.kernels import (
    PRODUCTS,
    Kernel,
    captured,
    in_backward,
    ranked,
)
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.top_kernel.layer_calls import explained, in_layers, where
from workflow_src.answers.top_kernel.products import FORWARD, Product, top_product
from workflow_src.paper.value import Cell

BACKWARD = "backward"


@dataclass(frozen=True)
class TopKernel:
    """What takes the most device time in a part of a step.

    `kernel` is the one with the most time by its whole name, `calls` its calls a step as
    "266 (11 per layer + 2)", `where` the components it runs in. `by_what` has the most time of all
    kernels that do the same together, `besides` of those that aren't matrix products; `product` is
    the matrix product with the most time.
    """

    case: CaseKey
    part: str
    kernel: Kernel
    calls: Cell
    where: Cell
    by_what: Kernel
    besides: Kernel | None
    product: Product | None


def top_of_case(tables: Tables, case: CaseKey, part: str) -> TopKernel | None:
    """What leads a part of a case's step: a key of words.PARTS; None if nothing was captured."""
    _, rows = rows_of_part(tables, case, part)
    together = ranked(rows, by="what")
    top, by_what = next(ranked(rows), None), next(together, None)
    if top is None or by_what is None:
        return None
    layers = layers_of(tables, case.case)
    mine = rows[rows["name"] == top.name]
    others = (each for each in chain([by_what], together) if each.family not in PRODUCTS)
    return TopKernel(
        case=case,
        part=part,
        kernel=top,
        calls=explained(top.calls, in_layers(mine, layers), layers),
        where=where(mine),
        by_what=by_what,
        besides=next(others, None),
        product=top_product(rows, products_of_part(tables, case, part), layers),
    )


def rows_of_part(tables: Tables, case: CaseKey, part: str) -> tuple[str, pd.DataFrame]:
    """The state of a part in the capture, and its rows of kernels.csv.

    Backward is what was launched inside a range named backward, on any thread.
    """
    state, rows = captured(tables, case.case, phase_of(part))
    if part != BACKWARD:
        return state, rows
    mine = in_backward(rows)
    return (state, mine) if len(mine) else ("not_measured" if state == "ok" else state, mine)


def products_of_part(tables: Tables, case: CaseKey, part: str) -> pd.DataFrame:
    """The rows of products.csv of a part."""
    rows = tables.of("products", case.case, phase_of(part))
    return rows[rows["direction"] != FORWARD] if part == BACKWARD else rows


def phase_of(part: str) -> str:
    """The phase of which a part is."""
    return "forward_backward" if part == BACKWARD else part
