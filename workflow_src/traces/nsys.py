"""Nsight Systems: its command line, its versions and its SQLite export (2023.4 to 2025.3)."""

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd

from workflow_src.common.errors import reading
from workflow_src.common.subprocesses import run_tied
from workflow_src.traces.trace import ACTIVITY_COLUMNS, Trace, TraceError, tidy_ranges

REPORTS = (
    "cuda_gpu_kern_sum",
    "cuda_api_sum",
    "nvtx_pushpop_sum",
    "nvtx_kern_sum",
    "nvtx_gpu_proj_sum",
    "cuda_gpu_mem_time_sum",
    "cuda_gpu_mem_size_sum",
)
OLDEST = (2023, 4)
PUSH_POP = 59
DEFAULT_DOMAIN = 0


def version() -> tuple[int, int]:
    """Year and number of the nsys on the PATH. Raises TraceError without a usable one."""
    if shutil.which("nsys") is None:
        raise TraceError("nsys is not on the PATH; install Nsight Systems or set profiler to torch")
    said = subprocess.run(["nsys", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d{4})\.(\d+)", said)
    if found is None:
        raise TraceError(f"nsys --version says {said.strip()!r}, which names no version")
    number = (int(found[1]), int(found[2]))
    if number < OLDEST:
        raise TraceError(
            f"nsys {number[0]}.{number[1]} is too old (its reports have other names); "
            f"use {OLDEST[0]}.{OLDEST[1]} or newer, or set profiler to torch"
        )
    return number


def profile_command(
    output: Path, program: Sequence[str], device: str, os_tracing: bool
) -> list[str]:
    """The command that captures `program` into `output` (a name that ends in .nsys-rep).

    On a CUDA device the window is opened and closed by the program (cudaProfilerApi), after its
    warm-up; elsewhere that call doesn't exist, and the program emits no range before its window.
    Sampling and context-switch tracing stay off: they made captures of gigabytes.
    """
    traced = "cuda,nvtx,osrt" if os_tracing else "cuda,nvtx"
    window = ["-c", "cudaProfilerApi", "--capture-range-end=stop"] if device == "cuda" else []
    quiet = ["-s", "none", "--cpuctxsw=none", "--force-overwrite=true"]
    return ["nsys", "profile", "-t", traced, *quiet, *window, "-o", str(output), *program]


def profile(output: Path, program: Sequence[str], device: str, os_tracing: bool) -> None:
    """Run `program` under nsys; `output` holds the capture afterwards.

    Raises TraceError where the program failed or nsys left no report, saying why.
    """
    version()
    status = run_tied(profile_command(output, program, device, os_tracing))
    if output.is_file() and status == 0:
        return
    raise TraceError(_what_went_wrong(output, status))


def _what_went_wrong(output: Path, status: int) -> str:
    if output.with_suffix(".qdstrm").is_file():
        return (
            f"nsys left {output.stem}.qdstrm and no report: its importer did not run; install the "
            "library that it misses (libdw1 on Debian and Ubuntu) and capture again"
        )
    if output.is_file() or status:
        return f"the program under nsys ended with status {status}; its own message stands above"
    return (
        "nsys left no report: the program never opened the capture range (cudaProfilerStart), or "
        "nsys was ended before it could write"
    )


def export(capture: Path, folder: Path, os_tracing: bool) -> None:
    """Export a capture into `folder`: trace.sqlite and one CSV for each `nsys stats` report."""
    version()
    database = folder / "trace.sqlite"
    try:
        _run(["nsys", "export", "-t", "sqlite", "--force-overwrite=true", "-o", database, capture])
    except TraceError as error:
        raise TraceError(
            f"{error}; delete it and run again, or use the nsys that made it"
        ) from None
    if not database.is_file():
        raise TraceError(f"nsys export made no SQLite of {capture.name}; capture the case again")
    for report in (*REPORTS, "osrt_sum") if os_tracing else REPORTS:
        (folder / f"{report}.csv").write_text(stats(database, report), encoding="utf-8")


def stats(source: Path, report: str) -> str:
    """What `nsys stats` prints of a capture or its SQLite as CSV; nothing where it skipped."""
    return csv_part(_run(["nsys", "stats", "--report", report, "--format", "csv", source]))


def _run(command: Sequence[str | Path]) -> str:
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if ended.returncode == 0:
        return ended.stdout
    reason = " ".join((ended.stderr or ended.stdout).split())[-500:]
    raise TraceError(f"{' '.join(map(str, command[:2]))} failed: {reason}")


def csv_part(printed: str) -> str:
    """The CSV in what `nsys stats` prints: from its header on, nothing where it skipped."""
    lines = [line for line in printed.splitlines() if line.count(",") >= 2]
    header = next((n for n, line in enumerate(lines) if "(ns)" in line or "(MB)" in line), None)
    return "" if header is None else "\n".join(lines[header:]) + "\n"


def stats_total_ns(report: Path) -> int | None:
    """Total kernel time that `nsys stats` cuda_gpu_kern_sum printed; None where it is empty."""
    if not report.is_file() or not report.stat().st_size:
        return None
    with reading(report, "what nsys stats prints", "delete its folder and run again", TraceError):
        return int(pd.read_csv(report)["Total Time (ns)"].astype("int64").sum())


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return {name for (name,) in rows}


_RANGES = f"""
SELECT coalesce(n.text, s.value) AS name, n.start AS start_ns, n.end AS end_ns,
       (n.globalTid >> 24) & 0xFFFFFF AS process, n.globalTid & 0xFFFFFF AS thread
FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId
WHERE n.eventType = {PUSH_POP} AND n.domainId = {DEFAULT_DOMAIN} AND n.end IS NOT NULL
"""

_LAUNCHES = """
SELECT correlationId, (globalTid >> 24) & 0xFFFFFF AS process, globalTid & 0xFFFFFF AS thread,
       min(start) AS launch_ns
FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY globalTid, correlationId
"""

_ACTIVITIES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": """
        SELECT 'kernel' AS kind, s.value AS name, k.start AS start_ns, k.end - k.start AS
        duration_ns, k.correlationId, (k.globalPid >> 24) & 0xFFFFFF AS process
        FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON s.id = k.demangledName""",
    "CUPTI_ACTIVITY_KIND_MEMCPY": """
        SELECT 'copy' AS kind, '[CUDA memcpy ' || coalesce(e.label, m.copyKind) || ']' AS name,
        m.start AS start_ns, m.end - m.start AS duration_ns, m.correlationId,
        (m.globalPid >> 24) & 0xFFFFFF AS process
        FROM CUPTI_ACTIVITY_KIND_MEMCPY m LEFT JOIN ENUM_CUDA_MEMCPY_OPER e ON e.id = m.copyKind""",
    "CUPTI_ACTIVITY_KIND_MEMSET": """
        SELECT 'set' AS kind, '[CUDA memset]' AS name, start AS start_ns,
        end - start AS duration_ns, correlationId, (globalPid >> 24) & 0xFFFFFF AS process
        FROM CUPTI_ACTIVITY_KIND_MEMSET""",
}


def _activities(connection: sqlite3.Connection, tables: set[str]) -> pd.DataFrame:
    parts = [
        pd.read_sql_query(query, connection)
        for table, query in _ACTIVITIES.items()
        if table in tables
    ]
    if not parts:
        return pd.DataFrame({name: pd.Series(dtype="int64") for name in ACTIVITY_COLUMNS})
    launches = pd.read_sql_query(_LAUNCHES, connection)
    launches = launches.drop_duplicates(["process", "correlationId"])
    joined = pd.concat(parts).merge(launches, how="left", on=["process", "correlationId"])
    missing = {"launch_ns": -1, "thread": -1}
    joined = joined.fillna(missing).astype(dict.fromkeys(missing, "int64"))
    ends = joined["start_ns"] + joined["duration_ns"]
    return joined.assign(operator="", end_ns=ends)[list(ACTIVITY_COLUMNS)]


def _version_of(connection: sqlite3.Connection, tables: set[str]) -> str:
    if "META_DATA_EXPORT" not in tables:
        raise TraceError("not an nsys export: it has no META_DATA_EXPORT table")
    query = "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION'"
    return str((connection.execute(query).fetchone() or ["unknown"])[0])


def _require_ranges(exported_by: str, tables: set[str]) -> None:
    if "NVTX_EVENTS" in tables:
        return
    old = exported_by[:4].isdigit() and int(exported_by[:4]) < 2024
    cause = (
        f"; nsys {exported_by} does not see the nvtx package 0.2.12 and later: install nvtx 0.2.11"
    )
    raise TraceError("the capture holds no NVTX range" + (cause if old else ""))


def read(database: Path) -> Trace:
    """The Trace in an nsys SQLite export. Raises TraceError where it can't be one."""
    with (
        reading(database, "a readable nsys export", "delete its folder and run again", TraceError),
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection,
    ):
        tables = _tables(connection)
        exported_by = _version_of(connection, tables)
        _require_ranges(exported_by, tables)
        ranges = tidy_ranges(pd.read_sql_query(_RANGES, connection))
        return Trace.of("nsys", exported_by, ranges, _activities(connection, tables))
