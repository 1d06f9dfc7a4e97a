"""Programs of processes that hold a device; apart, because they start in a tenth of a second so."""

import time
from typing import Any

from workflow_src.common.devices import hold


def hold_shortly(seen: Any) -> None:
    """Hold the CPU for 0.2 s, and put from when until when into `seen`."""
    with hold("cpu"):
        start = time.monotonic()
        time.sleep(0.2)
        seen.put((start, time.monotonic()))


def hold_for_ever(seen: Any) -> None:
    """Hold the CPU until killed; put True into `seen` once it is held."""
    with hold("cpu", "tiny-ctx16-fp32"):
        seen.put(True)
        time.sleep(600)
