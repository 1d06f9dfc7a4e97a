"""Which GPU holds what a step takes at its peak, by the sizes that GPUs are sold in."""

from workflow_src.common.units import GIB
from workflow_src.paper.value import Cell, Joined, Value, computed

SOLD_GB = (16, 24, 40, 80, 141, 192)
BYTES_PER_GB = 10**9
"""A GPU has a little more than so many bytes per GB that it is sold by: that is left to the CUDA
context and to what the allocator can't use."""


def holds(peak: Value, size: int) -> bool:
    """Whether a GPU of so many GB holds a peak in GiB."""
    return peak.number * GIB <= size * BYTES_PER_GB


def with_gpu(peak: Value | None) -> Cell:
    """A peak in GiB, and the smallest GPU that holds it: "17.3; 24 GB"."""
    if peak is None:
        return None
    size = next((size for size in SOLD_GB if holds(peak, size)), None)
    formula = "the least size sold that holds it"
    gpu = Joined((computed(size, "count", formula, peak), "GB"), " ") if size else "none sold"
    return Joined((peak, gpu), "; ")
