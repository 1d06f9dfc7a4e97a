"""One rank of a point: joins the others, measures, and writes its rows after each.

Ranks find each other by a file, and speak over the loopback interface or the GPUs' links.
"""

import signal
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from workflow_src.common.atomic_write import write_json
from workflow_src.common.subprocesses import end_with_parent
from workflow_src.measure.memory import limited_memory
from workflow_src.measure.rows import Row, attempt, free, said
from workflow_src.measure.timing import time_call
from workflow_src.studies.models import case_of
from workflow_src.studies.ranks.training import measure_way
from workflow_src.studies.study import Point

TOGETHER_BYTES, MOST = 2 * 10**8, 20
"""So many bytes in one sample, in at most this many calls: the same number in all ranks."""


def rows_of(point: Point, rank: int, folder: Path) -> Iterator[Row]:
    """The rows of a point as one rank measures them; traces go to the folder."""
    if point["measurement"] == "all_reduce":
        for size in point["sizes_bytes"]:
            row = attempt(partial(_timed, point, size), partial(free, point["device"]))
            yield {"measurement": "all_reduce", "bytes": size} | row
        return
    case = case_of(point, point["size"], point["precision"])
    about = {name: getattr(case, name) for name in ("size", "context", "batch", "precision")}
    for way in point["ways"]:
        trace = folder / f"{way}.rank{rank}.json.gz"
        release = partial(free, case.device)
        row = attempt(partial(measure_way, case, way, point, trace), release)
        release()
        yield {"measurement": "training", "way": way} | about | row


def _timed(point: Point, size: int) -> Row:
    """Raw samples (ns) of an all-reduce of so many bytes, as each rank starts them in turn."""
    device = point["device"]
    tensor = torch.zeros(size // 4, device=device)
    calls = max(1, min(MOST, TOGETHER_BYTES // size))

    def repeat() -> None:
        for _ in range(calls):
            dist.all_reduce(tensor)

    dist.barrier()
    samples = time_call(repeat, device, 2, point["samples"])
    return {"samples_ns": [round(ns / calls) for ns in samples], "calls_per_sample": calls}


def run(rank: int, point: Point, folder: Path, parent: int) -> None:
    """Measure as one rank of a point, and write its rows to a folder after each."""
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
    rows = []
    with limited_memory(point["device"], point.get("memory_limit_gib")):
        for row in rows_of(point, rank, folder):
            name = row.get("way") or f"all-reduce of {row['bytes']:,} bytes"
            rows.append(said(name, row) if rank == 0 else row)
            write_json(folder / f"rows{rank}.json", rows)
    dist.destroy_process_group()
