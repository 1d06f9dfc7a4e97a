"""Processes that measure: with a device to themselves, fresh ones after another, and their end.

A process keeps its luck: where its memory lies, how fast its core is, what the allocator did first.
So samples of one process say little about the next run. Brought code may leave threads that run on
for ever, for which Python would wait.
"""

import gc
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_src.common.device_locks import locks_are_shared
from workflow_src.common.devices import hold
from workflow_src.common.errors import StageError
from workflow_src.common.subprocesses import GAVE_NOTHING, how_it_ended, run_tied
from workflow_src.measure.gpu_state import state
from workflow_src.measure.machine import environment, host_id, host_speed, use_threads
from workflow_src.measure.memory import limited_memory
from workflow_src.measure.rows import Row

SAMPLES = ("samples_ns", "readings", "first_call_ns")
AROUND = ("before", "during", "after", "started_at", "ended_at")

GRACE_S = 5.0
"""How long threads may run on after the main one: they may be writing."""


def measured_alone(
    name: str,
    job: Mapping[str, Any],
    key: str,
    measure: Callable[[], Any],
    finish: Callable[[Any], Any] = lambda found: found,
) -> dict[str, Any]:
    """The result of `measure` under `key`, with environment, device states and times beside it.

    `job` is a case or a study's point called `name`; of its `gpus` devices, all locked, the first
    is recorded. `finish` completes the result, still alone on the device, once the state after
    measuring is recorded: a profiler slows the launches of the process that it ran in. Raises
    StageError if there is no such device, or less memory than the limit.
    """
    kind = job["device"]
    # What was imported is no garbage, and looking through it takes 0.1 s before each row.
    gc.freeze()
    count = job.get("gpus", 1)
    with hold(kind, name, count) as devices:
        device = devices[0]
        before = state(device) | host_speed(kind)
        started_at = datetime.now(UTC).isoformat()
        with limited_memory(kind, job.get("memory_limit_gib")):
            found = measure()
            after = state(device)
            # A failed capture of a graph can leave CUDA broken, with all that was timed before.
            with suppress(RuntimeError) if kind == "cuda" else nullcontext():
                after |= host_speed(kind)
            found = finish(found)
        # The host's name is kept with results, and never published.
        where = {"host_id": host_id(), "node": socket.gethostname(), "device_name": device}
        return {
            key: found,
            "environment": environment(device) | where,
            "before": before,
            "after": after,
            "locks_are_shared": locks_are_shared(),
            "started_at": started_at,
            "ended_at": datetime.now(UTC).isoformat(),
        }


@contextmanager
def ended_without_threads(about: str) -> Iterator[None]:
    """End this process GRACE_S after its main thread, with its status, whatever still runs."""
    status = 0
    try:
        yield
    except BaseException as error:
        status = 0 if isinstance(error, SystemExit) and error.code in (None, 0) else 1
        raise
    finally:
        threading.Thread(target=_end, args=(about, status), daemon=True).start()


def _end(about: str, status: int) -> None:
    # Python waits for other threads with the main one ended, and for this one never.
    threading.main_thread().join()
    time.sleep(GRACE_S)
    main = threading.main_thread()
    left = [each.name for each in threading.enumerate() if not each.daemon and each is not main]
    print(f"{about}: ended, though its code left running: {', '.join(left)}", file=sys.stderr)
    sys.stdout.flush()
    os._exit(status)


def written_by(module: str, arguments: Sequence[str], name: str) -> Any:
    """The JSON that `python -m module` writes, in a process called `name`.

    Raises StageError if it fails; its own message has been printed.
    """
    with TemporaryDirectory() as folder:
        output = Path(folder, "written.json")
        command = [sys.executable, "-m", module, *arguments, "--output", str(output)]
        status = run_tied(command).returncode
        if status or not output.exists():
            raise StageError(f"{name} {how_it_ended(status) if status else GAVE_NOTHING}")
        return json.loads(output.read_text(encoding="utf-8"))


def result_of(
    module: str, job: Mapping[str, Any], measure: Callable[[], Row], keys: Sequence[str] = ()
) -> Row:
    """What `measure` gives here, or as many fresh processes of `module` as a job says."""
    if job.get("processes", 1) > 1:
        return merged(in_fresh_processes(module, job), keys)
    use_threads(job)
    return measure()


def in_fresh_processes(module: str, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of as many runs of a stage's `module` as `row` has `processes`.

    `row`, a plan row or a study's point, is given to each with its number under "process": what is
    the same in all is measured in process 0 alone. Raises StageError if one of them fails.
    """
    option, count, results = "--point" if "point" in row else "--case", row["processes"], []
    for number in range(count):
        job = json.dumps(dict(row) | {"processes": 1, "process": number})
        name = f"process {number + 1} of {count}"
        results.append(written_by(module, [option, job], name))
    return results


def merged(results: Sequence[dict[str, Any]], keys: Sequence[str] = ()) -> dict[str, Any]:
    """The results of several processes as one: all samples, each with its process.

    Phases of a benchmark, or rows of a study's point: those that agree in `keys` are one
    measurement. One without samples in any process, such as a profile, is the first process's.
    AROUND is kept per process, under "processes".
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
    around = [{key: result[key] for key in AROUND if key in result} for result in results]
    last = {key: results[-1][key] for key in ("after", "ended_at")}
    shared = all(result["locks_are_shared"] for result in results)
    about = results[0] | last | {"processes": around, "locks_are_shared": shared}
    return about | ({"rows": [*one.values()]} if keys else {"phases": one})


def merged_phase(rows: Sequence[Row]) -> Row:
    """One measurement of all processes, and its replay: see `_merged_samples`."""
    found = _merged_samples(rows)
    if found["status"] == "ok":
        if peaks := [row["peak_memory_mib"] for row in rows if "peak_memory_mib" in row]:
            found["peak_memory_mib"] = max(peaks)
        if "replay" in found:
            found["replay"] = _merged_samples([row["replay"] for row in rows])
    return found


def _merged_samples(rows: Sequence[Row]) -> Row:
    """The samples of all processes in order, each with its process, if there are any in each.

    Else the first row without, with the number of such processes in its reason, and no samples: a
    phase and its replay, which are compared, must be of the same processes, and a phase that fits
    in some processes is none to count on.
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
