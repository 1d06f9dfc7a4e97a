"""How long the tables of other programs' captures take, and how much memory: N kernels, made up,
as an SQLite export of nsys, and as a trace of torch.profiler, which has an operator each as well.
With --paths or --ticks, how long tables and report take for N range paths, or for N outermost
ranges of one name, in an SQLite export."""

import argparse
import math
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from multiprocessing import Process
from pathlib import Path
from statistics import median

import numpy as np

from tests.captures.building import SCHEMA, global_id
from workflow_src.common.summary import summarize

PERIOD_NS, PERIOD_US, STEPS = 15_000, 15, 30
Rows = list[tuple[int | str | None, ...]]
NAMES = ("cudaLaunchKernel_v7000", "cuKernelGetName", "void kernel<float>(int)")
PASSES = 3
"""Steps of captures of many paths."""
TICK_KERNELS = 1000
MAIN = global_id(1, 1)
KERNEL_NAME = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)


def write_export(database: Path, kernels: int) -> None:
    """An export of STEPS steps, with two API calls per kernel."""
    at = (np.arange(kernels) * PERIOD_NS).tolist()
    calls: Rows = [(t, t + 90, MAIN, None, 1) for t in at]
    calls += [(t + 1_000, t + 6_000, MAIN, n, 0) for n, t in enumerate(at)]
    rows: Rows = [(t + 8_000, t + 12_000, 0, 7, n, MAIN, 2, 2) for n, t in enumerate(at)]
    length = kernels * PERIOD_NS // STEPS
    steps: Rows = [
        (n * length, (n + 1) * length, 59, "forward", MAIN, None, None, 0) for n in range(STEPS)
    ]
    parts = {
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "CUPTI_ACTIVITY_KIND_KERNEL": rows,
        "NVTX_EVENTS": steps,
    }
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(SCHEMA)
        connection.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES))
        for table, found in parts.items():
            marks = ", ".join("?" * len(found[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
        connection.commit()


def write_trace(path: Path, kernels: int) -> None:
    """A trace of torch.profiler of STEPS steps: an operator, a call and a kernel each."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        file.writelines(_events(kernels))
        file.write('{"ph": "M", "name": "end", "pid": 1, "tid": 1, "ts": 0}]}\n')


def _events(kernels: int) -> Iterator[str]:
    """The events, a line each and shaped as torch 2.11 writes them."""
    length = kernels * PERIOD_US // STEPS
    for step in range(STEPS):
        yield _event("user_annotation", "step", step * length, length, 1, 1, "")
    for number in range(1, kernels + 1):
        at = number * PERIOD_US + 0.125
        operator = f'"External id": {number}, "Record function id": 0, "Ev Idx": {number}'
        yield _event("cpu_op", "aten::add", at, 9.75, 1, 1, operator)
        call = f'"External id": {number}, "cbid": 211, "correlation": {number}'
        yield _event("cuda_runtime", "cudaLaunchKernel", at + 1, 5, 1, 1, call)
        kernel = (
            f'"External id": {number}, "queued": 0, "device": 0, "context": 1, "stream": 7, '
            f'"correlation": {number}, "registers per thread": 32, "shared memory": 0, '
            '"blocks per SM": 15.515152, "warps per SM": 93.090912, "grid": [2048, 1, 1], '
            '"block": [192, 1, 1], "est. achieved occupancy %": 94'
        )
        yield _event("kernel", KERNEL_NAME, at + 8, 4.5, 0, 7, kernel)


def _event(
    category: str, name: str, start: float, length: float, process: int, thread: int, more: str
) -> str:
    return (
        f'  {{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, '
        f'"tid": {thread}, "ts": {start + 4745504747324:.3f}, "dur": {length:.3f}, '
        f'"args": {{{more}}}}},\n'
    )


def write_paths(path: Path, paths: int) -> None:
    """An export of PASSES steps of ranges in ranges, a kernel in each of the inner ones.

    Names have no number, so that none are folded.
    """
    outer = math.isqrt(paths)
    spans = [("step", step * paths, (step + 1) * paths) for step in range(PASSES)]
    for step in range(PASSES):
        begin, end = step * paths, (step + 1) * paths
        spans += [(_word(n - begin), n, min(n + outer, end)) for n in range(begin, end, outer)]
        spans += [(_word(n - begin), n, n + 1) for n in range(begin, end)]
    write_export(path, paths * PASSES)
    _replace_ranges(path, [(name, a * PERIOD_NS, b * PERIOD_NS) for name, a, b in spans])


def write_ticks(path: Path, ticks: int) -> None:
    """An export of TICK_KERNELS kernels in ranges of one name, one after the other."""
    write_export(path, TICK_KERNELS)
    ends = [TICK_KERNELS * PERIOD_NS * n // ticks for n in range(ticks + 1)]
    _replace_ranges(path, [("tick", *times) for times in pairwise(ends)])


def _replace_ranges(path: Path, spans: Sequence[tuple[str, int, int]]) -> None:
    rows = [(start, end, 59, name, MAIN, None, None, 0) for name, start, end in spans]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM NVTX_EVENTS")
        connection.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _word(number: int) -> str:
    """A number in letters."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "c.sqlite": write_export,
    "c.json": write_trace,
}
MANY_RANGES: dict[str, Callable[[Path, int], None]] = {"paths": write_paths, "ticks": write_ticks}


def tables_command(capture: Path, output: Path) -> list[str]:
    """What makes the tables of a capture."""
    command = [sys.executable, "-m", "workflow_src.cli.read_capture", "--capture"]
    return [*command, str(capture), "--output", str(output)]


def report_command(tables: Path, output: Path) -> list[str]:
    """What makes the report of tables."""
    command = [sys.executable, "-m", "workflow_src.capture_report.report", "--tables", str(tables)]
    written = ["--markdown", str(output / "report.md"), "--html", str(output / "report.html")]
    return [*command, "--templates", "report_templates", *written]


def measured(command: list[str]) -> tuple[float, float, float]:
    """Seconds, of the clock and of CPUs, and peak memory (GB) of a command."""
    begin = time.perf_counter()
    child = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    seconds = time.perf_counter() - begin
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e9


def show(write: Callable[[Path, int], None], count: int, what: str, folder: Path) -> None:
    """Print the time and memory of the tables and of the report of many ranges."""
    capture, tables = folder / "c.sqlite", folder / "tables"
    _made(write, capture, count)
    for command in (tables_command(capture, tables), report_command(tables, folder)):
        seconds, cpu, memory = measured(command)
        stage = command[2].rpartition(".")[2]
        print(f"{count:,} {what}, {stage}: {seconds:.1f} s, {cpu:.1f} s of CPUs, {memory:.2f} GB")


def _made(write: Callable[[Path, int], None], path: Path, count: int) -> None:
    """Write a capture in a process of its own: its memory would count as that of what it starts."""
    maker = Process(target=write, args=(path, count))
    maker.start()
    maker.join()


def main() -> None:
    """Print times and memory for captures of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--paths", type=int, nargs="*", default=[], help="instead of kernels")
    parser.add_argument("--ticks", type=int, nargs="*", default=[], help="instead of kernels")
    arguments = parser.parse_args()
    for what, write in MANY_RANGES.items():
        for count in getattr(arguments, what):
            with tempfile.TemporaryDirectory() as folder:
                show(write, count, what, Path(folder))
    for kernels in [] if arguments.paths or arguments.ticks else arguments.kernels:
        for name, write in WRITERS.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / name
                _made(write, path, kernels)
                size = path.stat().st_size / 1e6
                command = tables_command(path, Path(folder) / "out")
                runs = [measured(command) for _ in range(arguments.repeats)]
            found = summarize([round(seconds * 1e9) for seconds, _, _ in runs])
            spread = f"{found['p20_ms'] / 1e3:.2f} to {found['p80_ms'] / 1e3:.2f}"
            print(
                f"{kernels:,} kernels, {name} of {size:.0f} MB: {found['median_ms'] / 1e3:.2f} s "
                f"({spread}), {median(cpu for _, cpu, _ in runs):.2f} s of CPUs, "
                f"{max(memory for _, _, memory in runs):.2f} GB"
            )


if __name__ == "__main__":
    main()
