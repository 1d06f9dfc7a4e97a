"""Dense peak rates of matrix products, and links of GPUs, from NVIDIA's datasheets."""

from collections.abc import Mapping

HOPPER_SXM = {"fp32": 67, "tf32": 494, "bf16": 989, "fp16": 989, "fp8": 1979}
"""TFLOP/s of H100 SXM and H200 SXM; the datasheets' own figures, but fp32's, are with sparsity."""

PEAKS: Mapping[str, Mapping[str, int]] = {
    "NVIDIA H100 80GB HBM3": HOPPER_SXM,
    "NVIDIA H200": HOPPER_SXM,
}
"""By the driver's name of the GPU, then by precision; H100 PCIe and the NVL models are slower."""


def peak_tflop_per_s(gpu: str, precision: str) -> int | None:
    """The peak of a GPU in a precision; None if no datasheet of it is here."""
    return PEAKS.get(gpu, {}).get(precision)


LINKS_GB_PER_S: Mapping[str, int] = dict.fromkeys(PEAKS, 450)
"""NVLink by the driver's name of the GPU, one way: the datasheets' 900 GB/s are both together."""
