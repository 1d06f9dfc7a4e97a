"""Measures a point by several ranks, each a process, and reads what their traces tell."""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import multiprocessing

from workflow_src.common.errors import StageError
from workflow_src.common.subprocesses import RAN_OUT
from workflow_src.measure.processes import written_by
from workflow_src.measure.rows import Row
from workflow_src.studies.ranks import rank
from workflow_src.studies.study import Point
from workflow_src.studies.tasks import main

READER = "workflow_src.studies.ranks.read_traces"
"""A program of its own: it needs pandas, which measuring doesn't."""

INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
"""Environment variables for the network that ranks find each other by; set ones are kept."""

MOST = (
    *("initialized_mib", "held_mib", "before_optimizer_mib", "optimizer_mib"),
    *("gradient_error", "parameter_error"),
)
"""What of a way is the most of any rank."""


def tasks(point: Point) -> list[Row]:
    """The rows of a point, as of the rank that took most; skipped where GPUs are too few."""
    there = torch.cuda.device_count()
    if point["device"] == "cuda" and there < point["ranks"]:
        reason = f"needs {point['ranks']} GPUs, and {there} can be used"
        return [row | {"status": "skipped", "reason": reason} for row in _planned(point)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        run_ranks(rank.run, point, folder)
        rows = of_ranks(point, folder)
        if not any(folder.glob("*.json.gz")):
            return rows
        given = ["--folder", str(folder)]
        found = written_by(READER, given, folder / "traces.json", "the reader of the capture")
        return [row | found.get(row.get("way"), {}) for row in rows]


def _planned(point: Point) -> list[Row]:
    if point["measurement"] == "all_reduce":
        return [{"measurement": "all_reduce", "bytes": size} for size in point["sizes_bytes"]]
    about = {name: point[name] for name in ("size", "context", "batch", "precision")}
    return [{"measurement": "training", "way": way} | about for way in point["ways"]]


def run_ranks(run: Callable[[int, Point, Path, int], None], point: Point, folder: Path) -> None:
    """Run a function of rank, point, folder and this process's id in a process per rank.

    Raises StageError if one fails, or not all have ended after `limit_s` seconds; the others are
    ended then, as they would wait for it.
    """
    count, limit_s = point["ranks"], point["limit_s"]
    os.environ |= dict.fromkeys(INTERFACES, "lo") | os.environ
    deadline, given = time.monotonic() + limit_s, (dict(point), folder, os.getpid())
    ranks = multiprocessing.start_processes(run, given, count, join=False, start_method="spawn")
    try:
        while not ranks.join(timeout=max(0.0, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                running = (str(n) for n, each in enumerate(ranks.processes) if each.is_alive())
                raise StageError(
                    f"of {count} ranks, {', '.join(running)} had not ended after {limit_s} s "
                    "and were killed; one of them hangs, or the point needs a greater limit_s"
                )
    except (multiprocessing.ProcessExitedException, multiprocessing.ProcessRaisedException) as end:
        print(end, file=sys.stderr, flush=True)
        status = getattr(end, "exit_code", 1)
        how = f"ended with status {status}; its own message stands above"
        if getattr(end, "signal_name", None) == "SIGKILL":
            how = f"was killed (signal 9); if nobody killed it, {RAN_OUT}"
        said = f"rank {end.error_index} of {count} {how}; the others were ended"
        raise StageError(said) from None
    finally:
        for each in ranks.processes:
            each.kill()
            each.join()


def of_ranks(point: Point, folder: Path) -> list[Row]:
    """The rows that the ranks of a point have written to a folder, each as one row of all."""
    found = [
        json.loads((folder / f"rows{number}.json").read_text(encoding="utf-8"))
        for number in range(point["ranks"])
    ]
    return [of_all(rows) for rows in zip(*found, strict=True)]


def of_all(rows: Sequence[Row]) -> Row:
    """One row of all ranks': the first's, with the most memory and the largest errors of any.

    A row of a rank that ran out of memory, if one did.
    """
    failed = next((row for row in rows if row["status"] != "ok"), None)
    known = [name for name in MOST if rows[0].get(name) is not None]
    return failed or rows[0] | {name: max(row[name] for row in rows) for name in known}


if __name__ == "__main__":
    main(tasks)
