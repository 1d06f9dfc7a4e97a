"""What a call to the CUDA runtime or driver does, by its name."""

import re
from typing import Any

import pandas as pd

from workflow_src.captures.rows import Mask, Values, of_each

KINDS = {
    "launch": r"Launch(?:Kernel|Cooperative|HostFunc|Grid)|(?:Graph|Kernel)Launch|^cuLaunch",
    "synchronize": r"Synchronize",
    "memcpy": r"Memcpy",
    "memset": r"Memset",
    "malloc": r"Malloc|MemAlloc|HostAlloc|MemCreate",
    "free": r"Free|MemRelease",
}
"""What an API call does, by the first pattern found in its name; else "other"."""

BLOCKING = r"Synchronize|Memcpy(?!.*Async)|^cu(?:da|Mem)Free(?!.*Async)"
"""Calls that return only when the device has done something: freeing memory waits for all kernels.
"""


def call_kinds(names: pd.Series) -> pd.Series:
    """The kind of each API call: a key of KINDS, or "other"."""
    kinds = pd.Series("other", index=names.index)
    for kind, pattern in reversed(KINDS.items()):
        kinds[names.str.contains(pattern, regex=True)] = kind
    return kinds


def matching(names: "pd.Series[Any] | Values", pattern: str) -> Mask:
    """Which names hold the pattern."""
    return of_each(names, re.compile(pattern).search, bool)


def launches_work(names: pd.Series) -> Mask:
    """Which calls launch work of a device, not functions of the host."""
    return matching(names, KINDS["launch"]) & ~matching(names, "HostFunc")
