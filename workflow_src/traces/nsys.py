"""Reads the SQLite export of Nsight Systems (2023.4 to 2025.3) and totals of its reports."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd

from workflow_src.captures.capture import API, OVERHEAD, PAGEABLE_COPY
from workflow_src.common.errors import TraceError, remake
from workflow_src.common.reading import reading
from workflow_src.traces.trace import ACTIVITY_COLUMNS, CALL_COLUMNS, Trace, no_rows, tidy_ranges

PUSH_POP = 59
DEFAULT_DOMAIN = 0


def stats_total_ns(report: Path) -> int | None:
    """Total kernel time (ns) in cuda_gpu_kern_sum of `nsys stats`; None if that was skipped.

    Its file is then empty. Raises TraceError if there is no file.
    """
    if not report.is_file():
        raise TraceError(f"{report} is missing from its export; {remake(report.parent)}")
    if not report.stat().st_size:
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

_CALLS = """
SELECT nameId, start AS start_ns, end AS end_ns,
       (globalTid >> 24) & 0xFFFFFF AS process, globalTid & 0xFFFFFF AS thread,
       coalesce(correlationId, -1) AS correlation
FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start
"""

_CALL_NAMES = """
SELECT id, value FROM StringIds
WHERE id IN (SELECT DISTINCT nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME)
"""

_PAGEABLE = 0
_PAGEABLE_COPIES = f"""
SELECT DISTINCT (globalPid >> 24) & 0xFFFFFF AS process, correlationId AS correlation
FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE srcKind = {_PAGEABLE} OR dstKind = {_PAGEABLE}
"""

_OVERHEADS = f"""
SELECT '{OVERHEAD}' AS kind, 'profiler overhead' AS name, start AS start_ns, end AS end_ns,
       -1 AS process, -1 AS thread, -1 AS correlation
FROM PROFILER_OVERHEAD WHERE end > start
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


def _activities(
    connection: sqlite3.Connection, tables: set[str], calls: pd.DataFrame
) -> pd.DataFrame:
    parts = [
        pd.read_sql_query(query, connection)
        for table, query in _ACTIVITIES.items()
        if table in tables
    ]
    if not parts:
        return no_rows(ACTIVITY_COLUMNS)
    # A driver call inside a runtime call may have its number; the outer call starts first.
    launches = calls.drop_duplicates(["process", "correlation"]).rename(
        columns={"start_ns": "launch_ns", "end_ns": "launch_end_ns", "correlation": "correlationId"}
    )[["process", "correlationId", "thread", "launch_ns", "launch_end_ns"]]
    joined = pd.concat(parts).merge(launches, how="left", on=["process", "correlationId"])
    missing = {"launch_ns": -1, "launch_end_ns": -1, "thread": -1}
    joined = joined.fillna(missing).astype(dict.fromkeys(missing, "int64"))
    ends = joined["start_ns"] + joined["duration_ns"]
    return joined.assign(operator="", end_ns=ends)[list(ACTIVITY_COLUMNS)]


def _calls(connection: sqlite3.Connection, tables: set[str]) -> pd.DataFrame:
    """All API calls in order of start; their names without nsys's suffix (_v3020)."""
    if "CUPTI_ACTIVITY_KIND_RUNTIME" not in tables:
        return no_rows(CALL_COLUMNS)
    calls = pd.read_sql_query(_CALLS, connection)
    names = dict(connection.execute(_CALL_NAMES).fetchall()) if "StringIds" in tables else {}
    bare = {number: re.sub(r"_v\d+$", "", name) for number, name in names.items()}
    calls = calls.assign(kind=API, name=calls["nameId"].map(bare).fillna("").astype("str"))
    if "CUPTI_ACTIVITY_KIND_MEMCPY" in tables:
        copies = pd.read_sql_query(_PAGEABLE_COPIES, connection)
        some = calls[calls["correlation"].isin(copies["correlation"])].reset_index()
        calls.loc[some.merge(copies)["index"], "kind"] = PAGEABLE_COPY
    return calls[list(CALL_COLUMNS)]


def _overheads(connection: sqlite3.Connection, tables: set[str]) -> pd.DataFrame:
    if "PROFILER_OVERHEAD" not in tables:
        return no_rows(CALL_COLUMNS)
    return pd.read_sql_query(_OVERHEADS, connection)


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
        calls = _calls(connection, tables)
        activities = _activities(connection, tables, calls)
        calls = pd.concat([calls, _overheads(connection, tables)], ignore_index=True)
        return Trace.of("nsys", exported_by, ranges, activities, calls)
