"""A rank that dies, or hangs, as its point's `fault` says; the others wait."""

import os
import sys
import time
from pathlib import Path
from typing import Any


def run(rank: int, point: dict[str, Any], folder: Path, parent: int) -> None:
    """As ranks.measure.run."""
    (folder / f"pid{rank}").write_text(str(os.getpid()))
    if rank == 1 and point["fault"] == "dies":
        sys.exit(7)
    if rank == 1 and point["fault"] == "is killed":
        os.kill(os.getpid(), 9)
    time.sleep(600)
