"""How long the ledger and the tables of launches take for a synthetic capture of N kernels, with
reading its SQLite export for comparison."""

import argparse
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from tests.simulated_gpu import KERNEL, MAIN, SCHEMA
from workflow_src.captures.reading import read
from workflow_src.common.summary import summarize
from workflow_src.measure.timing import time_steps
from workflow_src.placing.case_capture import placed_case
from workflow_src.placing.ledger import ledger

PERIOD_NS = 15_000
STEPS = 30
Rows = list[tuple[int | str | None, ...]]
NAMES = ("cudaLaunchKernel_v7000", "cuKernelGetName", "void kernel<float>(int)")


def write_export(database: Path, kernels: int) -> None:
    """An export of STEPS steps, with two API calls per kernel."""
    at = (np.arange(kernels) * PERIOD_NS).tolist()
    calls: Rows = [(t, t + 90, MAIN, None, 1) for t in at]
    calls += [(t + 1_000, t + 6_000, MAIN, n, 0) for n, t in enumerate(at)]
    rows: Rows = [(t + 8_000, t + 12_000, n, MAIN, 2) for n, t in enumerate(at)]
    length = kernels * PERIOD_NS // STEPS
    steps: Rows = [
        (n * length, (n + 1) * length, 59, "forward", MAIN, None, 0) for n in range(STEPS)
    ]
    parts = {"CUPTI_ACTIVITY_KIND_RUNTIME": calls, KERNEL: rows, "NVTX_EVENTS": steps}
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(SCHEMA)
        connection.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES))
        for table, found in parts.items():
            marks = ", ".join("?" * len(found[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
        connection.commit()


def show(what: str, call: Callable[[], object], repeats: int) -> None:
    """Print the time of `call`."""
    found = summarize(time_steps(call, lambda: None, repeats))
    print(f"  {what}: {found['median_ms']:.0f} ms ({found['p20_ms']:.0f} to {found['p80_ms']:.0f})")


def main() -> None:
    """Print times for captures of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    for kernels in arguments.kernels:
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / "trace.sqlite"
            write_export(database, kernels)
            capture = read(database)
            case = placed_case(capture)
            ranges, work, calls = case.ranges, case.work, capture.calls
            parts: dict[str, Callable[[], object]] = {
                "read": partial(read, database),
                "place": partial(placed_case, capture),
                "ledger": partial(ledger, ranges, work, calls),
            }
            print(f"{kernels:,} kernels")
            for what, call in parts.items():
                show(what, call, arguments.repeats)


if __name__ == "__main__":
    main()
