"""The faults: each changes one part of a program, in another form than benchmarks/planted does.

Importing this package registers all of them.
"""

from benchmarks.blind.faults import copies, host, kernels, passes, waits  # noqa: F401
from benchmarks.blind.faults.registry import FAULTS, suits

__all__ = ["FAULTS", "suits"]
