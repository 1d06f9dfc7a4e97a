"""Matrix products as ceilings: of several shapes and layouts."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from random import Random

import torch

from workflow_src.common.ceilings import PRODUCTS
from workflow_src.measure.precision import AUTOCAST, unsupported, use_precision
from workflow_src.measure.rows import Row
from workflow_src.measure.sampling import Sizes, measured
from workflow_src.measure.timing import Call

LAYOUTS = ("nn", "nt", "tn")
"""Which of the two factors of a product is stored transposed; a linear layer's forward is nt, its
backward nn and tn."""


def products(device: str, precision: str, sizes: Sizes) -> list[Row]:
    """Rows of matrix products in `precision`: each (m, k, n) of the sizes in each layout.

    In an order that neither sizes nor layouts decide, because a GPU's clock falls while it
    multiplies, and in bursts if the sizes have a pause: in a model a product is short and comes
    between other work. Factors are standard normal: a GPU's rate may depend on the numbers. `flops`
    of a call: 2 m k n.
    """
    use_precision(precision)
    dtype, why = AUTOCAST.get(precision, torch.float32), unsupported(precision, device)
    common = {"kind": PRODUCTS, "name": "matmul", "precision": precision}
    common |= {"dtype": str(dtype).removeprefix("torch.")}

    def row_of(shape: Sequence[int], layout: str) -> Row:
        m, k, n = shape
        about: Row = common | {"layout": layout, "flops": 2 * m * k * n}
        about |= {"shape": f"{m} x {k} x {n}"}
        if why:
            return about | {"status": "skipped", "reason": why}
        make = partial(_product, (m, k, n), layout, dtype, device)
        return measured(about, make, device, sizes, sizes["pause_ms"])

    every = list(product(map(tuple, sizes["shapes"]), LAYOUTS))
    found = {each: row_of(*each) for each in Random(0).sample(every, len(every))}
    return [found[each] for each in every]


def _product(shape: tuple[int, int, int], layout: str, dtype: torch.dtype, device: str) -> Call:
    """A call that multiplies an (m, k) by a (k, n) matrix, each stored as the layout says."""
    m, k, n = shape
    stored = [(m, k) if layout[0] == "n" else (k, m), (k, n) if layout[1] == "n" else (n, k)]
    a, b = (torch.randn(rows, columns, device=device, dtype=dtype) for rows, columns in stored)
    left, right = (a if layout[0] == "n" else a.t()), (b if layout[1] == "n" else b.t())
    return partial(torch.mm, left, right, out=torch.empty(m, n, device=device, dtype=dtype))
