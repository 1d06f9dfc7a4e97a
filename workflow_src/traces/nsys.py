"""Reads the SQLite export of Nsight Systems (2023.4 to 2025.3) and totals of its reports."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd

from workflow_src.common.errors import TraceError, remake
from workflow_src.common.reading import reading
from workflow_src.traces.trace import ACTIVITY_COLUMNS, Trace, tidy_ranges

PUSH_POP = 59
DEFAULT_DOMAIN = 0


def stats_total_ns(report: Path) -> int | None:
    """Total kernel time (ns) in cuda_gpu_kern_sum of `nsys stats`; None if missing or empty."""
    if not report.is_file() or not report.stat().st_size:
        return None
    with reading(report, "what nsys stats prints", remake(report.parent), TraceError):
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
    """The Trace in an nsys SQLite export. Raises TraceError if it isn't a valid one."""
    with (
        reading(database, "a readable nsys export", remake(database.parent), TraceError),
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection,
    ):
        tables = _tables(connection)
        exported_by = _version_of(connection, tables)
        _require_ranges(exported_by, tables)
        ranges = tidy_ranges(pd.read_sql_query(_RANGES, connection))
        return Trace.of("nsys", exported_by, ranges, _activities(connection, tables))
