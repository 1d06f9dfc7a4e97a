"""Matrix products as ceilings: of several shapes and layouts, and for a second on end."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from workflow_src.common.ceilings import PRODUCTS, SUSTAINED, SUSTAINED_ZEROS, ZEROS
from workflow_src.measure.oom import Row
from workflow_src.measure.precision import AUTOCAST, unsupported, use_precision
from workflow_src.measure.sampling import Sizes, attempted, measured, sustained
from workflow_src.measure.timing import Call

LAYOUTS = ("nn", "nt", "tn")
"""Which of the two factors of a product is stored transposed; a linear layer's forward is nt, its
backward nn and tn."""


def products(device: str, precision: str, sizes: Sizes) -> list[Row]:
    """Rows of matrix products in `precision`: each (m, k, n) of the sizes in each layout.

    The fastest layout of a shape has two more rows if the sizes have a pause. One is in bursts: in
    a model a product is short and comes between other work. The other is of zeros: factors are
    standard normal otherwise, and a GPU's rate may depend on the numbers. `flops` of a call:
    2 m k n.
    """
    use_precision(precision)
    rows: list[Row] = []
    for shape in sizes["shapes"]:
        row_of = partial(_product_row, shape, precision=precision, device=device, sizes=sizes)
        mine = [row_of(layout) for layout in LAYOUTS]
        ran = [row for row in mine if row["status"] == "ok"]
        rows += mine
        if ran and sizes["pause_ms"]:
            best = min(ran, key=lambda row: float(min(row["samples_ns"])))["layout"]
            rows += [row_of(best, pause_ms=sizes["pause_ms"]), row_of(best, zeros=True)]
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
    rows = []
    for kind, zeros in ((SUSTAINED, False), (SUSTAINED_ZEROS, True)):
        about = {name: best[name] for name in ("shape", "precision", "dtype", "layout", "flops")}
        about |= {"kind": kind, "name": f"matmul{' of zeros' if zeros else ''}, sustained"}
        make = partial(_product, (m, k, n), best["layout"], _dtype(precision), device, zeros)
        rows.append(about | attempted(about, partial(_sustained, make), device))
    return rows


def _sustained(make: Callable[[], Call]) -> Row:
    return sustained(make())


def _product_row(
    shape: Sequence[int],
    layout: str,
    precision: str,
    device: str,
    sizes: Sizes,
    pause_ms: float = 0.0,
    zeros: bool = False,
) -> Row:
    """The row of one product in one layout; called a burst if samples have pauses."""
    m, k, n = shape
    dtype = _dtype(precision)
    name = "matmul in bursts" if pause_ms else "matmul of zeros" if zeros else "matmul"
    kind = ZEROS if zeros else PRODUCTS
    about: dict[str, Any] = {"kind": kind, "name": name, "layout": layout, "flops": 2 * m * k * n}
    about |= {"shape": f"{m} x {k} x {n}", "precision": precision}
    about |= {"dtype": str(dtype).removeprefix("torch.")}
    if why := unsupported(precision, device):
        return about | {"status": "skipped", "reason": why}
    make = partial(_product, (m, k, n), layout, dtype, device, zeros)
    return about | measured(about, make, device, sizes, pause_ms)


def _dtype(precision: str) -> torch.dtype:
    return AUTOCAST.get(precision, torch.float32)


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
