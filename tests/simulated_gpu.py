"""A simulated host and GPU that run a program and write what nsys would export, with known truth.

The host launches into one in-order stream; all times are integer nanoseconds.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAUNCH_NS = 5_000
LATENCY_NS = 2_300
"""From the end of a launch call to the start of its kernel on an idle device."""
BETWEEN_NS = 1_000
"""From the end of a kernel to the start of the next one in the queue."""
RETURN_NS = 4_000
"""From the end of the device's work to the end of a call that waited for it."""

PAGEABLE, PINNED, DEVICE = 0, 1, 2
MAIN = 0x0001_0000_0042_0042
"""The global id of the main thread: process 0x42, thread 0x42."""
KERNEL, COPY = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"
SCHEMA = f"""
CREATE TABLE META_DATA_EXPORT (name, value);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.3');
CREATE TABLE StringIds (id INTEGER, value TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
    globalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER);
CREATE TABLE {KERNEL} (start INTEGER, end INTEGER, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER);
CREATE TABLE {COPY} (start INTEGER, end INTEGER, correlationId INTEGER, globalPid INTEGER,
    copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, label TEXT);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
"""


@dataclass
class Recording:
    """Rows of an nsys export, added by hand."""

    ranges: list[tuple[Any, ...]] = field(default_factory=list)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    kernels: list[tuple[Any, ...]] = field(default_factory=list)
    copies: list[tuple[Any, ...]] = field(default_factory=list)
    overheads: list[tuple[Any, ...]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)

    def range(self, name: str, start: int, end: int) -> None:
        self.ranges.append((start, end, 59, name, MAIN, None, 0))

    def call(self, name: str, start: int, end: int, correlation: int | None = None) -> None:
        self.calls.append((start, end, MAIN, correlation, self._name(name)))

    def kernel(self, call: tuple[int, int] | None, run: tuple[int, int], name: str = "k") -> None:
        """A kernel and, unless it is None, the call that launched it."""
        number = 1 + len(self.kernels) + len(self.copies)
        if call:
            self.call("cudaLaunchKernel_v7000", *call, number)
        self.kernels.append((*run, number, MAIN, self._name(name)))

    def copy(
        self, call: tuple[int, int], run: tuple[int, int], source: int, target: int,
        name: str = "cudaMemcpyAsync_v3020",
    ) -> None:  # fmt: skip
        number = 1 + len(self.kernels) + len(self.copies)
        self.call(name, *call, number)
        self.copies.append((*run, number, MAIN, 1, source, target))

    def overhead(self, start: int, end: int) -> None:
        self.overheads.append((start, end, MAIN, 0))

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def write(self, folder: Path) -> Path:
        """Write trace.sqlite into `folder`; returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        parts: dict[str, list[tuple[Any, ...]]] = {
            "NVTX_EVENTS": self.ranges,
            "CUPTI_ACTIVITY_KIND_RUNTIME": self.calls,
            KERNEL: self.kernels,
            COPY: self.copies,
            "PROFILER_OVERHEAD": self.overheads,
            "StringIds": [(number, name) for name, number in self.names.items()],
        }
        with closing(sqlite3.connect(folder / "trace.sqlite")) as connection:
            connection.executescript(SCHEMA)
            for table, rows in parts.items():
                for row in rows:
                    marks = ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)
            connection.commit()
        return folder


@dataclass
class Simulation:
    """Runs a program step by step and records it; `now` is the host's clock."""

    recording: Recording = field(default_factory=Recording)
    now: int = 1_000
    free: int = 0
    waited: int | None = None
    gaps: list[int] = field(default_factory=list)
    """Idle times of the device from the work before a fault to the first work launched after."""

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        start = self.now
        yield
        self.recording.range(name, start, self.now)

    def compute(self, ns: int) -> None:
        """The host does something else."""
        self.now += ns

    def launch(self, duration: int) -> None:
        call = (self.now, self.now + LAUNCH_NS)
        start = self._start(call[1])
        if self.waited is not None:
            self.gaps.append(start - self.waited)
            self.waited = None
        self.recording.kernel(call, (start, start + duration))
        self.now, self.free = call[1], start + duration

    def synchronize(self, name: str = "cudaDeviceSynchronize_v3020") -> None:
        start = self.now
        self.now = max(self.now, self.free) + RETURN_NS
        self.recording.call(name, start, self.now)

    def fault(self) -> None:
        """Count the idle time from here to the start of the next launch's work as the fault's."""
        self.waited = self.free

    def item(self) -> None:
        """Read one value back: a copy to pinned memory, and a wait for the stream."""
        call = (self.now, self.now + LAUNCH_NS)
        start = self._start(call[1])
        self.recording.copy(call, (start, start + 1_500), DEVICE, PINNED)
        self.now, self.free = call[1], start + 1_500
        self.synchronize("cudaStreamSynchronize_v3020")

    def copy_pageable(self, duration: int) -> None:
        """Copy from pageable memory: the call waits for its turn in the stream, then copies."""
        start = self._start(self.now)
        self.gaps.append(start - self.free)
        call = (self.now, start + duration + RETURN_NS)
        self.recording.copy(call, (start, start + duration), PAGEABLE, DEVICE)
        self.now, self.free = call[1], start + duration
        self.synchronize("cudaStreamSynchronize_v3020")

    @property
    def idle_ns(self) -> int:
        """Idle time of the device in the (only) recorded range; nothing overlaps here."""
        ((start, end, *_),) = self.recording.ranges
        work = [*self.recording.kernels, *self.recording.copies]
        return int(end - start - sum(row[1] - row[0] for row in work))

    def _start(self, returned: int) -> int:
        return max(returned + LATENCY_NS, self.free + BETWEEN_NS)
