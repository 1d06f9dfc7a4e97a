"""The command line of Nsight Systems (nsys), 2023.4 to 2025.3."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from workflow_src.common.errors import TraceError, remake
from workflow_src.common.subprocesses import run_tied

KERNELS = "cuda_gpu_kern_sum"
"""The report of `nsys stats` that a capture's kernel time is checked with."""

OLDEST = (2023, 4)

DATABASE, TRACE = "trace.sqlite", "trace.json.gz"
"""The capture in an export: nsys's tables, or torch.profiler's trace."""


def version() -> tuple[int, int]:
    """Year and release of the nsys on the PATH. Raises TraceError if it is missing or too old."""
    if shutil.which("nsys") is None:
        raise TraceError("nsys is not on the PATH; install Nsight Systems or set profiler to torch")
    text = run_tied(["nsys", "--version"], capture_output=True).stdout
    found = re.search(r"version (\d{4})\.(\d+)", text)
    if found is None:
        raise TraceError(f"nsys --version says {text.strip()!r}, which names no version")
    number = (int(found[1]), int(found[2]))
    if number < OLDEST:
        raise TraceError(
            f"nsys {number[0]}.{number[1]} is too old (its reports have other names); "
            f"use {OLDEST[0]}.{OLDEST[1]} or newer, or set profiler to torch"
        )
    return number


def export(capture: Path, folder: Path) -> None:
    """Export a capture as DATABASE and the CSV of KERNELS. Raises TraceError if nsys fails."""
    database = folder / DATABASE
    export_sqlite(capture, database)
    (folder / f"{KERNELS}.csv").write_text(stats(database, KERNELS), encoding="utf-8")


def export_sqlite(capture: Path, database: Path) -> None:
    """Export a capture as SQLite. Raises TraceError if nsys fails."""
    version()
    try:
        _run(["nsys", "export", "-t", "sqlite", "--force-overwrite=true", "-o", database, capture])
    except TraceError as error:
        raise TraceError(f"{error}; {remake(capture)}, or use the nsys that made it") from None
    if not database.is_file():
        raise TraceError(f"nsys export made no SQLite of {capture.name}; {remake(capture)}")


def stats(source: Path, report: str) -> str:
    """The CSV that `nsys stats` prints for a capture or its SQLite; "" for a skipped report."""
    return csv_part(_run(["nsys", "stats", "--report", report, "--format", "csv", source]))


def _run(command: Sequence[str | Path]) -> str:
    ended = run_tied([str(part) for part in command], capture_output=True)
    if ended.returncode == 0:
        return ended.stdout
    reason = " ".join((ended.stderr or ended.stdout).split())[-500:]
    raise TraceError(f"{' '.join(map(str, command[:2]))} failed: {reason}")


def csv_part(printed: str) -> str:
    """The CSV in what `nsys stats` prints; "" for a skipped report."""
    lines = [line for line in printed.splitlines() if line.count(",") >= 2]
    header = next((n for n, line in enumerate(lines) if "(ns)" in line or "(MB)" in line), None)
    return "" if header is None else "\n".join(lines[header:]) + "\n"
