"""Cut recorded loops down to their last steps and to what a diagnosis reads, for tests/data.

A cut capture keeps ranges, calls and device work of its last --steps steps, and no names of hosts,
processes or folders.
"""

import argparse
import gzip
import json
import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CALLS, RANGES = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
WORK = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, deviceId, streamId, correlationId, globalPid, "
    "demangledName, shortName, graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, deviceId, streamId, correlationId, globalPid, "
    "bytes, copyKind, srcKind, dstKind, graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start, end, deviceId, streamId, correlationId, globalPid, "
    "bytes, memKind, graphNodeId",
}
COLUMNS = {
    RANGES: "start, end, eventType, rangeId, text, globalTid, endGlobalTid, textId, domainId",
    CALLS: "start, end, globalTid, correlationId, nameId",
    **WORK,
    "ThreadNames": "nameId, globalTid",
    "ENUM_CUDA_MEMCPY_OPER": "id, name, label",
    "ENUM_CUDA_MEM_KIND": "id, name, label",
}
"""Columns that are kept of each table of an export."""

QUERIES = ("KernelGet", "KernelSet", "GetFunc", "GetError", "PeekAt", "GetAttribute", "Capturing")
"""Parts of the names of calls that only ask or note something: part of the host's own time."""

SHIFTED = "start - {began} AS start, end - {began} AS end"
"""Times since the first step, which take less place."""

NAMES = {
    RANGES: "textId",
    CALLS: "nameId",
    "ThreadNames": "nameId",
    "CUPTI_ACTIVITY_KIND_KERNEL": "demangledName",
}
"""A column of each table that numbers a name."""

KEPT = ("user_annotation", "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset")
"""Categories of events that are kept of a trace."""

ARGUMENTS = ("correlation", "device", "stream", "bytes")


def cut_export(path: Path, output: Path, steps: int, step: str) -> None:
    """Cut a compressed SQLite export of nsys.

    Steps, ranges called `step`, end with the last work that they launched.
    """
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.sqlite", Path(folder) / "part.sqlite"
        whole.write_bytes(gzip.decompress(path.read_bytes()))
        export = sqlite3.connect(part)
        export.execute("ATTACH ? AS whole", [str(whole)])
        began, ended = _window(export, steps, step)
        within = f"start BETWEEN {began} AND {ended}"
        later = f"SELECT correlationId FROM whole.{CALLS} WHERE start > {ended}"
        asking = " OR ".join(f"value LIKE '%{name}%'" for name in QUERIES)
        kept = {
            RANGES: within,
            CALLS: f"{within} AND nameId NOT IN (SELECT id FROM whole.StringIds WHERE {asking})",
            **dict.fromkeys(WORK, f"end >= {began} AND correlationId NOT IN ({later})"),
            "ThreadNames": f"globalTid IN (SELECT globalTid FROM whole.{CALLS})",
        }
        here = {name for (name,) in export.execute("SELECT name FROM whole.sqlite_master")}
        for table in COLUMNS.keys() & here:
            columns = COLUMNS[table].replace("start, end", SHIFTED.format(began=began))
            export.execute(
                f"CREATE TABLE {table} AS SELECT {columns} FROM whole.{table} "
                f"WHERE {kept.get(table, True)}"
            )
        used = " UNION ".join(f"SELECT {NAMES[table]} FROM {table}" for table in NAMES)
        export.execute(
            f"CREATE TABLE StringIds AS SELECT * FROM whole.StringIds WHERE id IN ({used})"
        )
        export.commit()
        export.execute("VACUUM")
        export.close()
        output.write_bytes(gzip.compress(part.read_bytes(), 9, mtime=0))


def _window(export: sqlite3.Connection, steps: int, step: str) -> tuple[int, int]:
    """When the first and the last of the last steps begin and end."""
    rows = export.execute(
        f"SELECT start, end FROM whole.{RANGES} LEFT JOIN whole.StringIds ON id = textId "
        "WHERE coalesce(text, value) = ? ORDER BY start DESC LIMIT ?", [step, steps]
    ).fetchall()  # fmt: skip
    return rows[-1][0], rows[0][1]


def cut_trace(path: Path, output: Path, steps: int, step: str) -> None:
    """Cut a compressed trace of torch.profiler."""
    with gzip.open(path) as file:
        events = [each for each in json.load(file)["traceEvents"] if each.get("cat") in KEPT]
    rows = sorted((e["ts"], e["dur"]) for e in events if e["name"] == step and "dur" in e)
    began, ended = rows[-steps][0], sum(rows[-1])
    on_host = [each for each in events if not _is_work(each)]
    later = {_argument(each, "correlation") for each in on_host if each["ts"] > ended}
    kept = [e for e in on_host if began <= e["ts"] <= ended and not _is_query(e)] + [
        each
        for each in events
        if _is_work(each)
        and each["ts"] + each["dur"] >= began
        and _argument(each, "correlation") not in later
    ]
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in _small(kept, began))
    output.write_bytes(gzip.compress(f'{{"traceEvents":[\n{lines}\n]}}\n'.encode(), 9, mtime=0))


def _is_work(event: dict[str, Any]) -> bool:
    return event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")


def _is_query(event: dict[str, Any]) -> bool:
    return event["cat"] != "user_annotation" and any(name in event["name"] for name in QUERIES)


def _argument(event: dict[str, Any], name: str) -> Any:
    return event.get("args", {}).get(name)


def _small(events: Iterable[dict[str, Any]], began: float) -> Iterable[dict[str, Any]]:
    """The events with what a capture is read from, their times (us) since the first step."""
    for event in events:
        kept = {name: event[name] for name in ("ph", "cat", "name", "pid", "tid", "dur")}
        given = {name: _argument(event, name) for name in ARGUMENTS}
        args = {name: each for name, each in given.items() if each is not None}
        yield {**kept, "ts": round(event["ts"] - began, 3), "args": args}


def main() -> None:
    """Cut the captures that are given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("captures", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--step", default="step", help="the range of a step")
    given = parser.parse_args()
    for path in given.captures:
        cut = cut_trace if ".json" in path.suffixes else cut_export
        cut(path, given.output / path.name, given.steps, given.step)


if __name__ == "__main__":
    main()
