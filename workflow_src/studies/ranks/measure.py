"""Measures a point by several ranks, each a process, and reads what their traces tell."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import (
    ProcessExitedException,
    ProcessRaisedException,
    start_processes,
)

from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import StageError
from workflow_src.common.subprocesses import end_with_parent, how_it_ended
from workflow_src.measure.memory import limited_memory
from workflow_src.measure.processes import written_by
from workflow_src.measure.timing import several, time_call
from workflow_src.studies.models import case_of, identity
from workflow_src.studies.ranks.training import measure_way
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main, rows

READER = "workflow_src.studies.ranks.read_traces"
"""A program of its own: it needs pandas, which measuring doesn't."""

INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
"""Environment variables for the network that ranks find each other by; set ones are kept."""

MOST = ("_mib", "_error")
"""Ends of columns that have the most of any rank."""


def tasks(point: Point) -> list[Row]:
    """The rows of a point, as of the rank that took most; skipped where GPUs are too few."""
    there = torch.cuda.device_count()
    if point["device"] == "cuda" and there < point["ranks"]:
        names = ("measurement", "size", "context", "batch", "precision")
        reason = f"needs {point['ranks']} GPUs, and {there} can be used"
        about = {name: point[name] for name in names if name in point}
        return [about | {"status": "skipped", "reason": reason}]
    with TemporaryDirectory() as name:
        folder = Path(name)
        run_ranks(run, point, folder)
        ranked = of_ranks(point, folder)
        if not any(folder.glob("*.json.gz")):
            return ranked
        found = written_by(READER, ["--folder", name], "the reader of the capture")
        return [row | found.get(row.get("way"), {}) for row in ranked]


def run_ranks(run: Callable[[int, Point, Path, int], None], point: Point, folder: Path) -> None:
    """Run a function of rank, point, folder and this process's id in a process per rank.

    Raises StageError if one fails, or not all have ended after `limit_s` seconds; the others, which
    would wait for it, are ended then.
    """
    count, limit_s = point["ranks"], point["limit_s"]
    os.environ |= dict.fromkeys(INTERFACES, "lo") | os.environ
    deadline, given = time.monotonic() + limit_s, (dict(point), folder, os.getpid())
    ranks = start_processes(run, given, count, join=False, start_method="spawn")
    try:
        while not ranks.join(timeout=max(0.0, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                running = (str(n) for n, each in enumerate(ranks.processes) if each.is_alive())
                raise StageError(
                    f"of {count} ranks, {', '.join(running)} had not ended after {limit_s} s "
                    "and were killed; one of them hangs, or the point needs a greater limit_s"
                )
    except (ProcessExitedException, ProcessRaisedException) as end:
        print(end, file=sys.stderr, flush=True)
        status = getattr(end, "exit_code", 1)
        how = how_it_ended(128 + signal.SIGKILL if status == -signal.SIGKILL else status)
        said = f"rank {end.error_index} of {count} {how}; the others were ended"
        raise StageError(said) from None
    finally:
        for each in ranks.processes:
            each.kill()
            each.join()


def of_ranks(point: Point, folder: Path) -> list[Row]:
    """The rows that the ranks of a point wrote to a folder, each as one row of all."""
    found = [
        json.loads((folder / f"rows{number}.json").read_text(encoding="utf-8"))
        for number in range(point["ranks"])
    ]
    return [of_all(rows) for rows in zip(*found, strict=True)]


def of_all(rows: Sequence[Row]) -> Row:
    """The first rank's row, with the most memory and the largest errors of any; or that of a rank
    that ran out of memory."""
    failed = next((row for row in rows if row["status"] != "ok"), None)
    known = [name for name in rows[0] if name.endswith(MOST) and rows[0][name] is not None]
    return failed or rows[0] | {name: max(row[name] for row in rows) for name in known}


TOGETHER_BYTES, MOST_CALLS = 2 * 10**8, 20
"""So many bytes in one sample, in at most this many calls: the same in all ranks."""


def tasks_of(point: Point, folder: Path) -> Iterator[Task]:
    """A point's tasks as each rank measures them; traces go to the folder."""
    if point["measurement"] == "all_reduce":
        for size in point["sizes_bytes"]:
            yield Task({"measurement": "all_reduce", "bytes": size}, partial(_timed, point, size))
        return
    case = case_of(point, point["size"], point["precision"])
    for way in point["ways"]:
        trace = folder / f"{way}.rank{dist.get_rank()}.json.gz"
        about = {"measurement": "training", "way": way} | identity(case)
        yield Task(about, partial(measure_way, case, way, point, trace))


def _timed(point: Point, size: int) -> Row:
    """Samples of an all-reduce of so many bytes, as each rank starts them in turn."""
    device = point["device"]
    tensor = torch.zeros(size // 4, device=device)
    calls = max(1, min(MOST_CALLS, TOGETHER_BYTES // size))
    repeat = several(partial(dist.all_reduce, tensor), calls)
    dist.barrier()
    samples = time_call(repeat, device, 2, point["samples"])
    return {"samples_ns": [round(ns / calls) for ns in samples], "calls_per_sample": calls}


def run(rank: int, point: Point, folder: Path, parent: int) -> None:
    """Measure as one rank, and write its rows to a folder."""
    end_with_parent(parent, signal.SIGKILL)
    # Threads that wait spin: as many as there are cores, in each rank, make a step take seconds.
    torch.set_num_threads(max(1, point.get("cpu_threads", 1) // point["ranks"]))
    on_gpu = point["device"] == "cuda"
    if on_gpu:
        torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl" if on_gpu else "gloo",
        init_method=f"file://{folder / 'store'}",
        rank=rank,
        world_size=point["ranks"],
        timeout=timedelta(seconds=point["limit_s"]),
        device_id=torch.device("cuda", rank) if on_gpu else None,
    )
    with limited_memory(point["device"], point.get("memory_limit_gib")):
        write_json(folder / f"rows{rank}.json", rows(tasks_of, point, folder))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(tasks)
