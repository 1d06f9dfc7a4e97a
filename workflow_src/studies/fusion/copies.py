"""What a copy tells of the bandwidth of memory, and where a cache makes it say something else."""

from collections.abc import Iterable

from workflow_src.common.units import MIB
from workflow_src.paper.value import Value
from workflow_src.studies.lines import Line, most, where

L2_MIB = {"NVIDIA H100 80GB HBM3": 50, "NVIDIA H200": 50}
"""Size of the L2 cache in MiB by the driver's name of the GPU, from NVIDIA's datasheets."""

LARGE = 2**26
"""From this many elements on, no cache holds the tensors; verdicts use only such shapes."""


def cached(line: Line) -> bool:
    """Whether a line's input or output fits in the L2 cache, so that repeats can read it there.

    Not if the repeats took several sets of tensors in turn. Of a GPU whose cache isn't known:
    whether there are fewer than LARGE elements.
    """
    if line.amount("sets") > 1:
        return False
    size = L2_MIB.get(line.text("gpu"))
    if size is None:
        return line.amount("elements") < LARGE
    return line.amount("bytes_moved") / 2 <= size * MIB


def bandwidth(measured: Iterable[Line]) -> Value | None:
    """The best rate (GB/s) of memory at one read a write: the ceiling, or a faster copy, or None.

    Only copies of tensors that no cache holds count. Points of earlier versions have no ceiling.
    """
    every = list(measured)
    copies = [line for line in where(every, implementation="copy") if not cached(line)]
    rates = [line.value("ceiling_gb_per_s", "GB/s") for line in every]
    return most([*rates, *(line.value("achieved_gb_per_s", "GB/s") for line in copies)])
