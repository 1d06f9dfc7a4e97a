"""A GPU's clock and power while it works, read by another process, which delays no launch."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_src.common.devices import cuda_devices, nvml
from workflow_src.common.subprocesses import end_with_parent
from workflow_src.measure.gpu_state import reading

Row = dict[str, Any]

PERIOD_S = 0.04
"""NVML's answers take a millisecond or so, and change about as often as this."""

READER = "workflow_src.measure.clock_readings"
"""What the other process runs: this module."""

WINDOW = "window_ns"
"""The key of a row with the times (CLOCK_MONOTONIC, ns) between which its steps ran."""


def timed(measure: Callable[[], Row]) -> Row:
    """The row of `measure`, with when it ran."""
    start = time.monotonic_ns()
    row = measure()
    return row | {WINDOW: [start, time.monotonic_ns()]}


@contextmanager
def watched(device: str) -> Iterator[list[list[Any]]]:
    """Read a CUDA device meanwhile; the yielded list is filled at the end. None for a CPU."""
    readings: list[list[Any]] = []
    if device != "cuda":
        yield readings
        return
    parent = os.getpid()
    with TemporaryDirectory() as folder, Path(folder, "readings").open("w+") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", READER],
            stdout=file,
            preexec_fn=lambda: end_with_parent(parent, signal.SIGTERM),
        )
        try:
            yield readings
        finally:
            process.terminate()
            process.wait()
            file.seek(0)
            readings += [json.loads(line) for line in file if line.endswith("\n")]


def add_readings(rows: dict[str, Row], readings: list[list[Any]]) -> None:
    """Give each row the `readings` made while it ran, without their times."""
    for row in rows.values():
        start, end = row.pop(WINDOW, (0, 0))
        if found := [values for ns, *values in readings if start <= ns <= end]:
            row["readings"] = found


def read() -> None:
    """Print a reading of the first visible device every PERIOD_S, until this process is ended.

    A line is a JSON list: the time (CLOCK_MONOTONIC, ns), then those of `gpu_state.reading`.
    """
    (device, *_) = cuda_devices()
    with nvml():
        while True:
            print(json.dumps([time.monotonic_ns(), *reading(device)]), flush=True)
            time.sleep(PERIOD_S)


if __name__ == "__main__":
    read()
