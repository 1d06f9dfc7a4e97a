"""Measure the ceilings of a device: memory bandwidth, matrix products and exponentials.

In a process of its own and before anything else is allocated, because copies in freed and
reallocated memory can be 10 % slower.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from random import Random
from typing import Any

import torch
from torch import Tensor

from workflow_src.common.arguments import new_file, stage_arguments
from workflow_src.common.atomic_write import write_json
from workflow_src.common.ceilings import FEWEST, PRODUCTS
from workflow_src.common.devices import nvml
from workflow_src.common.errors import one_sentence
from workflow_src.common.units import MIB
from workflow_src.measure.machine import use_threads
from workflow_src.measure.precision import AUTOCAST, unsupported, use_precision
from workflow_src.measure.processes import measured_alone
from workflow_src.measure.rows import Row, attempt, free, said
from workflow_src.measure.timing import Call, in_rotation, l2_bytes, sampled, wake

Sizes = Mapping[str, Any]
"""See common.ceilings."""

TIMES_L2 = 4
"""A buffer of the bandwidth ceiling is larger than so many L2 caches."""

SETS = 2
"""Sets of buffers that its calls take in turn."""

STREAMS: dict[str, tuple[int, Callable[..., object]]] = {
    "read": (1, lambda x: x.sum()),
    "write": (1, lambda y: y.fill_(1.0)),
    "copy": (2, lambda y, x: y.copy_(x)),
    "scale": (2, lambda y, x: torch.mul(x, 0.5, out=y)),
    "triad": (3, lambda y, x, z: torch.add(x, z, alpha=0.5, out=y)),
}
"""The operations of the bandwidth ceiling: the buffers that each reads or writes once."""

LAYOUTS = ("nn", "nt", "tn")
"""Which of the two factors of a product is stored transposed; a linear layer's forward is nt, its
backward nn and tn."""

FLOAT32 = {"dtype": "float32", "precision": "fp32"}

REPEATS = 256
"""Exponentials of each element in one call of the Triton kernel."""


def measure(point: Mapping[str, Any]) -> list[Row]:
    """The rows of bandwidths, products and exponentials."""
    device, sizes = point["device"], point["sizes"]
    rows = bandwidths(device, sizes)
    for precision in point["precisions"]:
        rows += products(device, precision, sizes)
    return [*rows, exponentials(device, sizes)]


def measured(
    about: Row, make: Callable[[], Call], device: str, sizes: Sizes, pause_ms: float = 0.0
) -> Row:
    """A row `about` a ceiling with samples of the call that `make` builds, or with why not."""
    free(device)
    often = FEWEST, sizes["budget_ms"], sizes["sample_ms"], pause_ms
    row = attempt(lambda: sampled(make(), device, *often), partial(free, device))
    name = " ".join(str(about[key]) for key in ("precision", "name", "shape", "layout")).strip()
    return about | said(name, row)


def bandwidths(device: str, sizes: Sizes) -> list[Row]:
    """Rows of STREAMS in float32; copy, scale and triad are those of STREAM (McCalpin 1995).

    Where buffers of the sizes don't fit, they are as small as TIMES_L2 allows. `bytes` are those
    that a call reads and writes. Scaling is a copy by an elementwise kernel, which can be faster
    than a GPU's copy.
    """
    sets: list[list[Tensor]] = []
    itemsize, least = torch.float32.itemsize, TIMES_L2 * l2_bytes(device) + MIB
    for nbytes in (max(sizes["buffer_mib"] * MIB, least), least):
        elements = nbytes // itemsize
        # All at once: buffers in freed and reallocated memory would be slower.
        allocated = attempt(partial(_allocate, sets, elements, device), partial(free, device))
        if sets:
            break
    shape = f"{nbytes / MIB:g} MiB"
    rows: list[Row] = []
    wake(_stream("copy", sets) if sets else bool, device, sizes["wake_s"])
    for name, (count, _) in STREAMS.items():
        about: Row = {"kind": "bandwidth", "name": name, "shape": shape, "layout": ""} | FLOAT32
        about |= {"bytes": count * elements * itemsize}
        make = partial(_stream, name, sets)
        rows.append(measured(about, make, device, sizes) if sets else about | allocated)
    return rows


def _allocate(sets: list[list[Tensor]], elements: int, device: str) -> Row:
    most = max(count for count, _ in STREAMS.values())
    sets += [[torch.ones(elements, device=device) for _ in range(most)] for _ in range(SETS)]
    return {}


def _stream(name: str, sets: Sequence[Sequence[Tensor]]) -> Call:
    count, operation = STREAMS[name]
    return in_rotation([partial(operation, *buffers[:count]) for buffers in sets])


def products(device: str, precision: str, sizes: Sizes) -> list[Row]:
    """Rows of matrix products in `precision`: each (m, k, n) of the sizes in each layout.

    In an order that neither sizes nor layouts decide, because a GPU's clock falls while it
    multiplies, and in bursts if the sizes have a pause: in a model a product is short and comes
    between other work. Factors are standard normal: a GPU's rate may depend on the numbers.
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
    m, k, n = shape
    stored = [(m, k) if layout[0] == "n" else (k, m), (k, n) if layout[1] == "n" else (n, k)]
    a, b = (torch.randn(rows, columns, device=device, dtype=dtype) for rows, columns in stored)
    left, right = (a if layout[0] == "n" else a.t()), (b if layout[1] == "n" else b.t())
    return partial(torch.mm, left, right, out=torch.empty(m, n, device=device, dtype=dtype))


def exponentials(device: str, sizes: Sizes) -> Row:
    """A row of exponentials in float32: on a GPU repeated in registers by Triton, else torch's.

    A GPU takes them in its special-function units, which limit softmax and attention with small
    heads.
    """
    elements, is_gpu = sizes["exponentials"], device == "cuda"
    name, repeats = ("exp2 in registers", REPEATS) if is_gpu else ("exp in a cache", 1)
    about: Row = {"kind": "exponential", "name": name, "shape": f"{elements} elements"}
    about |= {"layout": "", "operations": repeats * elements} | FLOAT32
    return measured(about, partial(_exponentials, elements, device), device, sizes)


def _exponentials(elements: int, device: str) -> Call:
    x = torch.rand(elements, device=device)
    if device != "cuda":
        return partial(torch.exp, x, out=torch.empty_like(x))
    # Imported here, because only the CUDA builds of PyTorch include Triton.
    from workflow_src.measure.exp2_kernel import repeat_exp2

    return partial(repeat_exp2, x, torch.empty_like(x), REPEATS)


@one_sentence()
def main() -> None:
    """Measure the ceilings of a device."""
    given = stage_arguments(__doc__, point=json.loads, output=new_file)
    use_threads(given.point)
    # NVML stays initialized, so that a reading is quick.
    with nvml():
        result = measured_alone("ceilings", given.point, "rows", lambda: measure(given.point))
    write_json(given.output, {"point": given.point} | result)


if __name__ == "__main__":
    main()
