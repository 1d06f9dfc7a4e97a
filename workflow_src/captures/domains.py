"""Which ranges count: those of the program, not those that libraries push."""

import re

import pandas as pd

from workflow_src.captures.capture import Note
from workflow_src.common.errors import TraceError

DEFAULT = "default"

LIBRARIES = frozenset(
    name.casefold()
    for name in (
        "CCCL", "CUB", "Thrust", "NCCL", "cuBLAS", "cuBLASLt", "cuBLASMp", "cuDNN", "cuSPARSE",
        "cuSPARSELt", "cuSOLVER", "cuSOLVERDn", "cuSOLVERMg", "cuFFT", "cuRAND", "cuTENSOR",
        "cuFile", "nvJPEG", "NVSHMEM", "MPI", "UCX", "UCC", "TensorRT", "DALI", "libcudf",
        "libkvikio", "librmm", "raft", "torch", "OpenACC",
    )
)  # fmt: skip
"""Domains that libraries push ranges in, in lower case; others are the user's."""

_TORCHS = re.compile(
    r"ProfilerStep#\d+$|Optimizer\.(step|zero_grad)#|enumerate\(DataLoader\)#|"
    r"DistributedDataParallel\.forward$|Torch-Compiled Region|## Call CompiledFxGraph|PyTorch Profi"
)


def torch_domain(name: str) -> str:
    """The domain of a range of a trace, which has none, by its name."""
    if name.startswith(("nccl:", "c10d::")):
        return "NCCL"
    return "torch" if _TORCHS.match(name) else DEFAULT


def is_library(domain: str) -> bool:
    """Whether a domain is one of LIBRARIES."""
    return domain.casefold() in LIBRARIES


def domain_names(text: str) -> tuple[str, ...]:
    """Domains as names separated by commas."""
    return tuple(name.strip() for name in text.split(","))


def choose(
    ranges: pd.DataFrame, asked: tuple[str, ...] | None
) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """The ranges of the domains asked for or, without any, of all but libraries' own; and a note of
    each other domain. Raises TraceError for a domain that the capture doesn't have."""
    sizes = ranges["domain"].value_counts().sort_index()
    for name in asked or ():
        if name not in sizes.index:
            here = ", ".join(sizes.index) or "no range at all"
            raise TraceError(f"--domains: the capture has no domain {name!r}, it has {here}")
    out = [is_library(name) if asked is None else name not in asked for name in sizes.index]
    left_out = sizes[out]
    code = "libraries" if asked is None else "not asked for"
    notes = tuple(Note(code, int(count), str(name)) for name, count in left_out.items())
    return ranges[~ranges["domain"].isin(left_out.index)].reset_index(drop=True), notes
