"""Measures in several fresh processes, one after another, and merges what they found.

A process keeps its luck: where its memory lies, how fast its core is, what the allocator did first.
Samples of one process therefore say little about the next run.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_src.common.errors import StageError
from workflow_src.common.subprocesses import how_it_ended, run_tied
from workflow_src.measure.oom import Row

SAMPLES = ("samples_ns", "device_samples_ns")
AROUND = ("before", "during", "after", "started_at", "ended_at")


def in_fresh_processes(module: str, row: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """The results of `count` runs of a stage's `module` for a plan row, each a new process.

    Raises StageError if one of them fails; its own message has been printed.
    """
    case = json.dumps(dict(row) | {"processes": 1})
    results = []
    with TemporaryDirectory() as folder:
        for number in range(count):
            output = Path(folder, f"{number}.json")
            given = ["--case", case, "--output", str(output)]
            ended = run_tied([sys.executable, "-m", module, *given])
            if ended.returncode:
                how = how_it_ended(ended.returncode)
                raise StageError(f"process {number + 1} of {count} {how}")
            results.append(json.loads(output.read_text(encoding="utf-8")))
    return results


def merged(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The results of several processes as one: all samples, each with its process.

    What was recorded around the measurement is kept per process, under "processes".
    """
    first, last = results[0], results[-1]
    phases = {
        phase: merged_phase([result["phases"][phase] for result in results])
        for phase in first["phases"]
    }
    around = [{key: result[key] for key in AROUND} for result in results]
    ended = {key: last[key] for key in ("after", "ended_at")}
    return first | ended | {"phases": phases, "processes": around}


def merged_phase(rows: Sequence[Row]) -> Row:
    """One phase of all processes: its samples in order, or the first row that has none."""
    for row in rows:
        if row["status"] != "ok":
            return row
    samples = {name: [ns for row in rows for ns in row[name]] for name in SAMPLES}
    process = [number for number, row in enumerate(rows) for _ in row["samples_ns"]]
    peak = max(row["peak_memory_mib"] for row in rows)
    return rows[0] | samples | {"process": process, "peak_memory_mib": peak}
