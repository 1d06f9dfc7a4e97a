"""What a call to the CUDA runtime or driver does, by its name."""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

KINDS = {
    "launch": r"Launch(?:Kernel|Cooperative|HostFunc|Grid)|(?:Graph|Kernel)Launch|^cuLaunch",
    "synchronize": r"Synchronize",
    "memcpy": r"Memcpy",
    "memset": r"Memset",
    "malloc": r"Malloc|MemAlloc|HostAlloc|MemCreate",
    "free": r"Free|MemRelease",
}
"""What an API call does, by the first pattern found in its name; anything else is "other"."""

BLOCKING = r"Synchronize|Memcpy(?!.*Async)|^cu(?:da|Mem)Free(?!.*Async)"
"""Calls that return only when the device has done something: waits, synchronous copies, and
freeing memory, which waits for all kernels."""


def call_kinds(names: pd.Series) -> pd.Series:
    """The kind of each API call: a key of KINDS, or "other"."""
    kinds = pd.Series("other", index=names.index)
    for kind, pattern in reversed(KINDS.items()):
        kinds[names.str.contains(pattern, regex=True)] = kind
    return kinds


def matching(names: pd.Series, pattern: str) -> npt.NDArray[np.bool_]:
    """Which names hold the pattern; each different name is looked at once."""
    number, different = pd.factorize(names)
    holds = [re.search(pattern, name) is not None for name in different]
    return np.array([*holds, False])[number]


def launches_work(names: pd.Series) -> npt.NDArray[np.bool_]:
    """Which calls launch work of a device: kernels or graphs, not functions of the host."""
    return matching(names, KINDS["launch"]) & ~matching(names, "HostFunc")
