"""GeLU as a CUDA C++ kernel, `gelu.cu`, built at run time with nvcc."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from workflow_src.common.errors import UnavailableError

SOURCE = Path(__file__).with_name("gelu.cu")
KINDS = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
VECTOR_BYTES = 16

# The interface passes plain addresses: torch's headers would take most of a minute to compile.
BINDING = """
#include <cstdint>
#include <pybind11/pybind11.h>
int launch_gelu(uintptr_t x, uintptr_t y, int64_t elements, int kind, uintptr_t stream);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("launch_gelu", &launch_gelu); }
"""


def _call(launch: Callable[[int, int, int, int, int], int], x: Tensor) -> Tensor:
    x = x.contiguous()
    if x.data_ptr() % VECTOR_BYTES:
        x = x.clone()
    y = torch.empty_like(x)
    if x.numel():
        stream = torch.cuda.current_stream(x.device).cuda_stream
        error = launch(x.data_ptr(), y.data_ptr(), x.numel(), KINDS[x.dtype], stream)
        if error:
            raise RuntimeError(f"the CUDA kernel of GeLU didn't launch: error {error}")
    return y


def build_gelu() -> Callable[[Tensor], Tensor]:
    """Build the kernel; returns a function of a CUDA tensor x.

    Its result is contiguous, with the shape and dtype of x. Raises UnavailableError without a
    CUDA device, nvcc or ninja, or if the build fails.
    """
    if not torch.cuda.is_available():
        raise UnavailableError("there is no CUDA device")
    # Imported only here: the import looks for compilers and warns without CUDA.
    from torch.utils import cpp_extension

    if cpp_extension.CUDA_HOME is None:
        raise UnavailableError("CUDA's compiler nvcc is not installed")
    if not cpp_extension.is_ninja_available():
        raise UnavailableError("ninja, which builds the CUDA kernel, is not installed")
    try:
        module = cpp_extension.load_inline(
            name="workflow_gelu",
            cpp_sources=[BINDING],
            cuda_sources=[SOURCE.read_text(encoding="utf-8")],
            extra_cuda_cflags=["-O3"],
            with_cuda=True,
            no_implicit_headers=True,
        )
    except RuntimeError as error:
        print(error, flush=True)
        raise UnavailableError("the build of the CUDA kernel failed; its log says why") from error
    return partial(_call, module.launch_gelu)
