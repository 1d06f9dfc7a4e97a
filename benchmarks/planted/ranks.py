"""Two ranks under DistributedDataParallel, with one fault each; started by torchrun.

usage: torchrun --nproc-per-node 2 -m benchmarks.planted.ranks FOLDER [--nsys]
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.planted.loop import (
    DEVICE_BOUND,
    Decoder,
    cross_entropy,
    marked,
    resident_batch,
)

SIZE = replace(DEVICE_BOUND, batch=4, context=512)
STEPS, BLOCKS = 6, 5
Batches = Callable[[], tuple[torch.Tensor, torch.Tensor]]
Scenario = Callable[[DistributedDataParallel, Batches, int], None]


def clean(model: DistributedDataParallel, batch: Batches, number: int) -> None:
    """Two micro batches, gradients reduced once."""
    with model.no_sync():
        _micro_batch(model, batch)
    _micro_batch(model, batch)


def reduced_in_each(model: DistributedDataParallel, batch: Batches, number: int) -> None:
    """Gradients are reduced in each micro batch."""
    for _ in range(2):
        _micro_batch(model, batch)


def late_rank(model: DistributedDataParallel, batch: Batches, number: int) -> None:
    """Rank 1 computes on the host before its forward pass."""
    if dist.get_rank() == 1:
        with marked("data"):
            until = time.perf_counter() + 0.02
            while time.perf_counter() < until:
                pass
    clean(model, batch, number)


def reduced_at_the_end(model: DistributedDataParallel, batch: Batches, number: int) -> None:
    """Gradients are reduced one by one after backward, where nothing hides it."""
    with model.no_sync():
        for _ in range(2):
            _micro_batch(model, batch)
    with marked("reduce"):
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)


def _micro_batch(model: nn.Module, batch: Batches) -> None:
    inputs, targets = batch()
    with marked("forward"):
        loss = cross_entropy(model, inputs, targets)
    with marked("backward"):
        loss.backward()


SCENARIOS = (clean, reduced_in_each, late_rank, reduced_at_the_end)


def main() -> None:
    """Measure all in alternating blocks, then record each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nsys", action="store_true")
    given = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = DistributedDataParallel(Decoder(SIZE).cuda(), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    batch = resident_batch(SIZE)

    def step(scenario: Scenario, number: int) -> None:
        with marked("step"):
            optimizer.zero_grad(set_to_none=True)
            scenario(model, batch, number)
            with marked("optimizer"):
                optimizer.step()

    def block_ms(scenario: Scenario) -> float:
        dist.barrier()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for number in range(STEPS):
            step(scenario, number)
        torch.cuda.synchronize()
        return (time.perf_counter() - began) * 1000 / STEPS

    times: dict[str, list[float]] = {each.__name__: [] for each in SCENARIOS}
    for _ in range(1 if given.nsys else BLOCKS + 1):
        for scenario in SCENARIOS:
            times[scenario.__name__].append(block_ms(scenario))
    if not given.nsys:
        for name, found in times.items():
            print(
                "rank",
                rank,
                name,
                [round(each, 3) for each in found[1:]],
                median(found[1:]),
                flush=True,
            )
    for scenario in SCENARIOS:
        dist.barrier()
        torch.cuda.synchronize()
        if given.nsys:
            torch.cuda.cudart().cudaProfilerStart()
            for number in range(4):
                step(scenario, number)
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
            continue
        schedule = torch.profiler.schedule(wait=0, warmup=1, active=4, repeat=1)
        with torch.profiler.profile(schedule=schedule) as profiler:
            for number in range(5):
                step(scenario, number)
                profiler.step()
            torch.cuda.synchronize()
        profiler.export_chrome_trace(
            str(given.folder / f"ranks_{scenario.__name__}.rank{rank}.json.gz")
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
