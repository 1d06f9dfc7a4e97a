"""How much reading a capture may take: what it unpacks to, and memory.

A file of a megabyte can hold a gigabyte. Beyond a limit, reading ends in a sentence of its own.
"""

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from workflow_src.captures.files import UNPACKED_BYTES, UNPACKED_OPTION
from workflow_src.common.arguments import positive
from workflow_src.common.errors import TraceError
from workflow_src.common.own_memory import at_most_bytes, available_bytes
from workflow_src.common.units import GIB

MEMORY, MEMORY_OPTION = "capture_memory_gib", "memory-gib"
SHARE = 0.5
"""Of the available memory, where no limit is given: captures are read beside each other."""


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the limits to a parser."""
    parser.add_argument(
        f"--{UNPACKED_OPTION}", metavar="GIB", type=positive, default=UNPACKED_BYTES.get() / GIB,
        help="most that a compressed capture may unpack to (16)",
    )  # fmt: skip
    parser.add_argument(
        f"--{MEMORY_OPTION}", metavar="GIB", type=positive,
        help="most memory that reading it may take; without it half of what is available",
    )  # fmt: skip


@contextmanager
def within_limits(given: argparse.Namespace) -> Iterator[None]:
    """Keep to the limits given as arguments. Raises TraceError where memory doesn't suffice.

    On Linux alone memory is limited: other systems don't say how much there is.
    """
    known = Path("/proc/meminfo").is_file()
    memory_gib = given.memory_gib or (SHARE * available_bytes() / GIB if known else math.inf)
    token = UNPACKED_BYTES.set(given.unpacked_gib * GIB)
    try:
        with at_most_bytes(int(memory_gib * GIB)) if known else nullcontext():
            yield
    except MemoryError:
        names = ", ".join(map(str, given.capture))
        raise TraceError(
            f"{names}: reading it takes more than {memory_gib:.3g} GiB of memory; capture fewer "
            f"steps, or allow more where there is more: --config {MEMORY}=... (--{MEMORY_OPTION} "
            "by hand)"
        ) from None
    finally:
        UNPACKED_BYTES.reset(token)
