"""Matrix products as ceilings: of several shapes and layouts, and for a second on end."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from random import Random

import torch

from workflow_src.common.ceilings import PRODUCTS, SUSTAINED, SUSTAINED_ZEROS, ZEROS
from workflow_src.measure.precision import AUTOCAST, unsupported, use_precision
from workflow_src.measure.rows import Row
from workflow_src.measure.sampling import Sizes, attempted, measured, sustained
from workflow_src.measure.timing import Call

LAYOUTS = ("nn", "nt", "tn")
"""Which of the two factors of a product is stored transposed; a linear layer's forward is nt, its
backward nn and tn."""


def products(device: str, precision: str, sizes: Sizes) -> list[Row]:
    """Rows of matrix products in `precision`: each (m, k, n) of the sizes in each layout.

    In an order that neither sizes nor layouts decide, because a GPU's clock falls while it
    multiplies, and in bursts if the sizes have a pause: in a model a product is short and comes
    between other work. The fastest layout of a shape has another row then, of zeros: factors are
    standard normal otherwise, and a GPU's rate may depend on the numbers. `flops` of a call: 2 m k
    n.
    """
    use_precision(precision)
    dtype, pause_ms = AUTOCAST.get(precision, torch.float32), sizes["pause_ms"]
    why = unsupported(precision, device)

    def row_of(shape: Sequence[int], layout: str, zeros: bool = False) -> Row:
        m, k, n = shape
        kind, name = (ZEROS, "matmul of zeros") if zeros else (PRODUCTS, "matmul")
        about: Row = {"kind": kind, "name": name, "layout": layout, "flops": 2 * m * k * n}
        about |= {"shape": f"{m} x {k} x {n}", "precision": precision}
        about |= {"dtype": str(dtype).removeprefix("torch.")}
        if why:
            return about | {"status": "skipped", "reason": why}
        make = partial(_product, (m, k, n), layout, dtype, device, zeros)
        return measured(about, make, device, sizes, pause_ms)

    every = list(product(map(tuple, sizes["shapes"]), LAYOUTS))
    found = {each: row_of(*each) for each in Random(0).sample(every, len(every))}
    rows = [found[each] for each in every]
    for shape in map(tuple, sizes["shapes"] if pause_ms else ()):
        ran = {each: found[shape, each] for each in LAYOUTS if found[shape, each]["status"] == "ok"}
        if ran:
            rows.append(
                row_of(shape, min(ran, key=lambda name: min(ran[name]["samples_ns"])), True)
            )
    return rows


def sustained_products(device: str, precision: str, found: Sequence[Row]) -> list[Row]:
    """Rows of the fastest product of `found`, for a second on end: of normal numbers and of zeros.

    With what they draw and whether that limits the clock: why a rate depends on the numbers. None
    on a CPU, or if no product ran. Other precisions must not have been set since.
    """
    ran = [row for row in found if row["status"] == "ok" and row["kind"] == PRODUCTS]
    if device != "cuda" or not ran:
        return []
    best = max(ran, key=lambda row: float(row["flops"] / min(row["samples_ns"])))
    m, k, n = (int(size) for size in best["shape"].split(" x "))
    dtype = AUTOCAST.get(precision, torch.float32)
    rows = []
    for kind, zeros in ((SUSTAINED, False), (SUSTAINED_ZEROS, True)):
        about = {name: best[name] for name in ("shape", "precision", "dtype", "layout", "flops")}
        about |= {"kind": kind, "name": f"matmul{' of zeros' if zeros else ''}, sustained"}
        make = partial(_product, (m, k, n), best["layout"], dtype, device, zeros)
        rows.append(attempted(about, partial(_sustained, make), device))
    return rows


def _sustained(make: Callable[[], Call]) -> Row:
    return sustained(make())


def _product(
    shape: tuple[int, int, int], layout: str, dtype: torch.dtype, device: str, zeros: bool = False
) -> Call:
    """A call that multiplies an (m, k) by a (k, n) matrix, each stored as the layout says."""
    m, k, n = shape
    filled = torch.zeros if zeros else torch.randn
    stored = [(m, k) if layout[0] == "n" else (k, m), (k, n) if layout[1] == "n" else (n, k)]
    a, b = (filled(rows, columns, device=device, dtype=dtype) for rows, columns in stored)
    left, right = (a if layout[0] == "n" else a.t()), (b if layout[1] == "n" else b.t())
    return partial(torch.mm, left, right, out=torch.empty(m, n, device=device, dtype=dtype))
