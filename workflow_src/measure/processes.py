"""Processes that measure: fresh ones after another, and what they found as one.

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
from workflow_src.common.subprocesses import GAVE_NOTHING, how_it_ended, run_tied

Row = dict[str, Any]

SAMPLES = ("samples_ns", "readings", "first_call_ns")
AROUND = ("before", "during", "after", "started_at", "ended_at")


def written_by(module: str, arguments: Sequence[str], output: Path, name: str) -> Any:
    """What `python -m module` writes into `output` as JSON, in a process of its own.

    Raises StageError, with the process's `name`, if it fails; its message has been printed.
    """
    command = [sys.executable, "-m", module, *arguments, "--output", str(output)]
    status = run_tied(command).returncode
    if status or not output.exists():
        raise StageError(f"{name} {how_it_ended(status) if status else GAVE_NOTHING}")
    return json.loads(output.read_text(encoding="utf-8"))


def in_fresh_processes(module: str, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of as many runs of a stage's `module` as `row` has `processes`, each a new one.

    `row`, a plan row or a study's point, is given to the stage as JSON, with the number of the
    process under "process": what is the same in all is measured in process 0 alone. Raises
    StageError if one of them fails; its own message has been printed.
    """
    option, count, results = "--point" if "point" in row else "--case", row["processes"], []
    with TemporaryDirectory() as folder:
        for number in range(count):
            job = json.dumps(dict(row) | {"processes": 1, "process": number})
            output, name = Path(folder, f"{number}.json"), f"process {number + 1} of {count}"
            results.append(written_by(module, [option, job], output, name))
    return results


def merged(results: Sequence[dict[str, Any]], keys: Sequence[str] = ()) -> dict[str, Any]:
    """The results of several processes as one: all samples, each with its process.

    Phases of a benchmark, or rows of a study's point: those that agree in `keys` are one
    measurement. One without samples in any process, such as one of a profile, is the first
    process's. What was recorded around the measurement is kept per process, under "processes".
    """
    found: dict[Any, list[Row]] = {}
    for result in results:
        rows = result["phases"] if not keys else result["rows"]
        for each in rows:
            name, row = (tuple(map(each.get, keys)), each) if keys else (each, rows[each])
            found.setdefault(name, []).append(row)
    one = {
        name: merged_phase(same) if any("samples_ns" in row for row in same) else same[0]
        for name, same in found.items()
    }
    return _around(results) | ({"rows": [*one.values()]} if keys else {"phases": one})


def _around(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first result, with what was recorded around each process, and the end of the last."""
    around = [{key: result[key] for key in AROUND if key in result} for result in results]
    last = {key: results[-1][key] for key in ("after", "ended_at")}
    shared = all(result["locks_are_shared"] for result in results)
    return results[0] | last | {"processes": around, "locks_are_shared": shared}


def merged_phase(rows: Sequence[Row]) -> Row:
    """One measurement of all processes and its replay, if it has one: see `_merged_samples`."""
    found = _merged_samples(rows)
    if found["status"] == "ok":
        if peaks := [row["peak_memory_mib"] for row in rows if "peak_memory_mib" in row]:
            found["peak_memory_mib"] = max(peaks)
        if "replay" in found:
            found["replay"] = _merged_samples([row["replay"] for row in rows])
    return found


def _merged_samples(rows: Sequence[Row]) -> Row:
    """The samples of all processes in order, each with its process, if there are any in each.

    Else the first row without, with the number of such processes in its reason. The samples of the
    others are dropped: a phase and its replay are compared, which must be of the same processes,
    and a phase that fits in some processes is none to count on.
    """
    lost = [row for row in rows if row["status"] != "ok"]
    if lost:
        how_many = f" (in {len(lost)} of {len(rows)} processes)" if len(lost) < len(rows) else ""
        return lost[0] | {"reason": lost[0]["reason"] + how_many}
    samples = {
        name: [ns for row in rows for ns in row[name]] for name in SAMPLES if name in rows[0]
    }
    process = [number for number, row in enumerate(rows) for _ in row["samples_ns"]]
    return rows[0] | samples | {"process": process}
