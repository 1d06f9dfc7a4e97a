"""Times all-reduces of float32 by size, as each rank starts them one after another."""

from collections.abc import Iterator
from functools import partial

import torch
import torch.distributed as dist

from workflow_src.measure.rows import Row, attempt, free
from workflow_src.measure.timing import time_call
from workflow_src.studies.study import Point

TOGETHER_BYTES, MOST = 2 * 10**8, 20
"""So many bytes in one sample, in at most this many calls: the same number in all ranks."""


def measure_all_reduces(point: Point) -> Iterator[Row]:
    """A row per size: raw samples (ns) of one call."""
    for size in point["sizes_bytes"]:
        row = attempt(partial(_timed, point, size), partial(free, point["device"]))
        yield {"measurement": "all_reduce", "bytes": size} | row


def _timed(point: Point, size: int) -> Row:
    device = point["device"]
    tensor = torch.zeros(size // 4, device=device)
    calls = max(1, min(MOST, TOGETHER_BYTES // size))

    def repeat() -> None:
        for _ in range(calls):
            dist.all_reduce(tensor)

    dist.barrier()
    samples = time_call(repeat, device, 2, point["samples"])
    return {"samples_ns": [round(ns / calls) for ns in samples], "calls_per_sample": calls}
