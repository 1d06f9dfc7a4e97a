"""Small captures made by hand: nsys exports, and traces of torch.profiler."""

import gzip
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.capture_report import capture as reported
from workflow_src.captures.capture import COLUMNS, UNKNOWN, Capture
from workflow_src.captures.nsys import DOMAIN
from workflow_src.captures.reading import read
from workflow_src.paper.run import Run, typed
from workflow_src.placing.attributed import attributed
from workflow_src.placing.placing import is_unplaced
from workflow_src.tables.capture_tables import placed_tables, tables_of

HOST = 1 << 48
SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
    globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
    shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, copyKind INTEGER, srcKind INTEGER,
    dstKind INTEGER);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.3.2.0');
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device');
"""


def global_id(process: int, thread: int = 0) -> int:
    return HOST | process << 24 | thread


class Export:
    def __init__(self, folder: Path, name: str = "c.sqlite") -> None:
        self.path = folder / name
        self.connection = sqlite3.connect(":memory:")
        self.connection.executescript(SCHEMA)
        self.calls = 0

    def sql(self, statement: str, *values: Any) -> None:
        self.connection.execute(statement, values)

    def insert(self, table: str, **values: Any) -> None:
        marks = ", ".join("?" * len(values))
        self.sql(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", *values.values())

    def string(self, text: str) -> int:
        self.sql("INSERT INTO StringIds (value) VALUES (?)", text)
        return int(self.connection.execute("SELECT max(id) FROM StringIds").fetchone()[0])

    def range(
        self, name: str | None, start: int | None, end: int | None, thread: int = 1,
        process: int = 1, domain: int | None = 0, ended_on: int | None = None,
        registered: bool = False,
    ) -> None:  # fmt: skip
        """A range that is pushed and popped or, if it says where it ended, started and ended."""
        self.insert(
            "NVTX_EVENTS",
            start=start,
            end=end,
            eventType=59 if ended_on is None else 60,
            text=None if registered else name,
            textId=self.string(name) if registered and name else None,
            globalTid=global_id(process, thread),
            endGlobalTid=None if ended_on is None else global_id(process, ended_on),
            domainId=domain,
        )

    def domain(self, number: int, name: str, process: int = 1, registered: bool = False) -> None:
        text = {"textId": self.string(name)} if registered else {"text": name}
        tid = global_id(process, 1)
        values = dict(start=-9, eventType=DOMAIN, globalTid=tid, domainId=number)
        self.insert("NVTX_EVENTS", **values, **text)

    def named(self, thread: int, name: str, process: int = 1) -> None:
        tid = global_id(process, thread)
        self.insert("ThreadNames", nameId=self.string(name), globalTid=tid)

    def api(
        self, name: str | None, start: int, end: int, number: int = 0, thread: int = 1,
        process: int = 1,
    ) -> None:  # fmt: skip
        """A call of the API; what has its number is what it launched."""
        values = dict(start=start, end=end, globalTid=global_id(process, thread))
        name_id = 0 if name is None else self.string(name)
        values |= dict(correlationId=number, nameId=name_id)
        self.insert("CUPTI_ACTIVITY_KIND_RUNTIME", **values)

    def call(self, launch: int, number: int, thread: int = 1, process: int = 1) -> None:
        """A call without a name, of 1 ns."""
        self.api(None, launch, launch + 1, number, thread, process)

    def wait(
        self, start: int, end: int, name: str = "cudaStreamSynchronize_v3020", **more: int
    ) -> None:
        """A call that launches nothing unless work has its number; its name says if it waits."""
        self.api(name, start, end, **more)

    def work(
        self, launch: int | None, length: int | None = 10, kind: str = "KERNEL", thread: int = 1,
        process: int = 1, number: int | None = None, device: int = 0, stream: int = 7,
        start: int | None = None, **more: Any,
    ) -> None:  # fmt: skip
        """Device work, and unless `launch` is None the call that launched it."""
        self.calls += 1
        number = self.calls if number is None else number
        if launch is not None:
            self.call(launch, number, thread, process)
        begin = (launch or 0) + 5 if start is None else start
        end = None if length is None else begin + length
        if kind == "KERNEL" and "demangledName" not in more:
            more["demangledName"] = self.string("gemm")
        at = dict(start=begin, end=end, deviceId=device, streamId=stream, correlationId=number)
        pid = global_id(process)
        self.insert(f"CUPTI_ACTIVITY_KIND_{kind}", **at, globalPid=pid, **more)

    def write(self) -> Path:
        self.path.unlink(missing_ok=True)
        self.connection.commit()
        with closing(sqlite3.connect(self.path)) as target:
            self.connection.backup(target)
        return self.path

    def read(self) -> Capture:
        return read(self.write())

    def tables(self, *domains: str) -> dict[str, pd.DataFrame]:
        return placed_tables(attributed(self.read(), domains or None))


@dataclass(frozen=True)
class Range:
    """A range of a thread, which has the numbers of its process and its own."""

    name: str
    start: int
    end: int
    thread: tuple[int, int]


@dataclass(frozen=True)
class Work:
    """A kernel, and when which thread launched it; None if no call did."""

    launch: int | None
    length: int
    thread: tuple[int, int]
    device: int = 0


def capture_of(
    ranges: Sequence[Range], work: Sequence[Work], names: Mapping[int, str] | None = None
) -> Capture:
    """A capture; each kernel starts a bit later than the one before. `names`: of threads."""
    spans = [(r.name, "default", r.start, r.end, *r.thread) for r in ranges]
    rows, calls = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for n, w in enumerate(work):
        start = (50 if w.launch is None else w.launch) + n
        launch = [UNKNOWN] * 3 if w.launch is None else [w.launch, w.launch, w.thread[1]]
        about = ("kernel", "gemm", start, start + w.length, w.length, w.thread[0], w.device, 0)
        rows.append((*about, *launch))
        if w.launch is not None:
            calls.append(("api", "", w.launch, w.launch + 1, *w.thread))
    threads = [(1, thread, name) for thread, name in (names or {}).items()]

    tables = {"ranges": spans, "work": rows, "calls": calls, "thread_names": threads}
    return Capture.of(
        {name: pd.DataFrame(of, columns=[*COLUMNS[name]]) for name, of in tables.items()}
    )


def busy(tables: dict[str, pd.DataFrame], column: str = "own_ms") -> dict[str, int]:
    """Device time (ns) by path, without what was launched in inner ranges."""
    sums = (tables["paths"].set_index("path")[column] * 1e6).groupby(level=0).sum()
    return {str(path): round(ns) for path, ns in sums.items()}


def unplaced(tables: dict[str, pd.DataFrame]) -> dict[str, int]:
    """Device time (ns) that has no path, by reason."""
    kernels = tables["kernels"]
    sums = kernels[is_unplaced(kernels["path"])].groupby("path")["busy_ns"].sum()
    return {str(path)[1:-1]: int(ns) for path, ns in sums.items()}


def notes(found: Capture | dict[str, pd.DataFrame]) -> dict[str, int]:
    if isinstance(found, Capture):
        return {note.code: note.count for note in found.notes}
    table = found["notes"]
    return {str(code): int(n) for code, n in table.groupby("note")["count"].sum().items()}


def event(category: str, name: Any, start: Any, length: Any, **more: Any) -> dict[str, Any]:
    """An event of torch.profiler; times are microseconds. `args` and others may be given."""
    about = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1}
    return about | {"ts": start, "dur": length} | more


def launched(number: int, at: Any, length: Any = 1, name: str = "gemm", **more: Any) -> list[Any]:
    """A launch call and the kernel that it launched, half a microsecond later."""
    arguments = {"correlation": number, "device": 0, "stream": 7}
    return [
        event("cuda_runtime", "cudaLaunchKernel", at, 0.1, args={"correlation": number}, **more),
        event("kernel", name, at + 0.5, length, pid=0, tid=7, args=arguments),
    ]


def thread_name(thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "ts": 0} | {
        "args": {"name": f"thread {thread} ({name})"}
    }


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def trace_file(folder: Path, content: Any, name: str = "c.json") -> Path:
    """A trace of these events, or this text, compressed if its name says so."""
    text = content if isinstance(content, str) else json.dumps({"traceEvents": content})
    data = text.encode("utf-8", "surrogatepass")
    path = folder / name
    path.write_bytes(packed(data) if name.endswith(".gz") else data)
    return path


def tables_in(
    path: Path, *domains: str, step: str = "", fold: str | None = None, diagnosed: bool = False
) -> dict[str, pd.DataFrame]:
    """The tables of a capture; those of its diagnosis take twice as long as all others."""
    of = attributed(read(path), domains or None, step=step, fold=fold)
    return tables_of(of) if diagnosed else placed_tables(of)


def as_capture(tables: Mapping[str, pd.DataFrame]) -> reported.Capture:
    run = Run([])
    named = {f"capture/{name}": each for name, each in tables.items()}
    run._read |= {name: typed(each, name) for name, each in named.items()}
    return reported.Capture(run, "c")
