"""Record loops with faults and clean ones, and measure what each fault costs.

--measure FILE.csv: the time of a step of each loop with a fault and of the loop without it, in
alternating blocks of one process, without a profiler. --torch FOLDER: a trace of each by
torch.profiler. --nsys: open one capture window for each loop, in the order that is printed; run
under nsys profile -c cudaProfilerApi --capture-range-end=repeat.
"""

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import torch

from benchmarks.planted.clean import CLEAN
from benchmarks.planted.faults import FAULTS, Fault
from benchmarks.planted.loop import DEVICE, TINY, Loop, clean_loop
from benchmarks.planted.others import IMAGES, OTHERS, network

BLOCKS, WARM_UP, RECORDED = 7, 6, 4
COLUMNS = (
    "name", "pace", "clean_ms", "faulty_ms", "cost_ms", "cost_least_ms", "cost_most_ms", "blocks",
    "steps_a_block", "device",
)  # fmt: skip


def wait() -> None:
    """Wait for the device."""
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def block_ms(loop: Loop, fault: Fault, steps: int) -> float:
    """How long a step takes, of a block of steps between two waits."""
    wait()
    began = time.perf_counter()
    for number in range(steps):
        loop.step(number, fault.size.micro_batches)
    wait()
    return (time.perf_counter() - began) * 1000 / steps


@contextmanager
def made(fault: Fault) -> Iterator[Loop]:
    """A loop that has been warmed up; what it began is ended."""
    loop = fault.make(fault.size)
    try:
        for number in range(WARM_UP):
            loop.step(number, fault.size.micro_batches)
        wait()
        yield loop
    finally:
        fault.end()


def alternating(fault: Fault) -> tuple[list[float], list[float]]:
    """Milliseconds a step of blocks without the fault and with it, in turn.

    What a fault starts beside its loop (a thread) runs in its blocks alone.
    """
    clean = network(IMAGES) if fault.size == IMAGES else clean_loop(fault.size)
    block_ms(clean, fault, WARM_UP)
    without, with_fault = [], []
    with made(fault) as loop:
        steps = 4 if fault.name.startswith("save") else max(4, int(120 / block_ms(clean, fault, 4)))
        steps -= steps % 4
        for _ in range(BLOCKS):
            fault.end()
            without.append(block_ms(clean, fault, steps))
            if fault.name.startswith("busy_thread"):
                fault.make(fault.size)
            with_fault.append(block_ms(loop, fault, steps))
    return without, with_fault


def measure(faults: Sequence[Fault], path: Path) -> None:
    """Write a row for each fault."""
    device = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for fault in faults:
            without, with_fault = alternating(fault)
            costs = [b - a for a, b in zip(without, with_fault, strict=True)]
            numbers = median(without), median(with_fault), median(costs), min(costs), max(costs)
            pace = fault.name.rpartition("-")[2]
            rounded = [round(number, 4) for number in numbers]
            table.writerow([fault.name, pace, *rounded, BLOCKS, "4 or more", device])
            file.flush()
            print(fault.name, rounded, flush=True)
            if DEVICE.type == "cuda":
                torch.cuda.empty_cache()


def measure_alone(faults: Sequence[Fault], path: Path) -> None:
    """Add the time of a step of each clean loop."""
    with path.open("a", newline="") as file:
        for fault in faults:
            with made(fault) as loop:
                times = [block_ms(loop, fault, 8) for _ in range(5)]
            csv.writer(file).writerow([fault.name, fault.name.rpartition("-")[2], median(times)])
            print(fault.name, round(median(times), 3), flush=True)


def trace(fault: Fault, folder: Path) -> None:
    """Write a trace of RECORDED steps by torch.profiler."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if DEVICE.type == "cuda":
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    with made(fault) as loop:
        schedule = torch.profiler.schedule(wait=0, warmup=1, active=RECORDED + 1, repeat=1)
        path = str(folder / f"{fault.name}.json.gz")
        with torch.profiler.profile(activities=kinds, schedule=schedule) as profiler:
            for number in range(RECORDED + 2):
                loop.step(number, fault.size.micro_batches)
                profiler.step()
            wait()
        profiler.export_chrome_trace(path)


def open_window(fault: Fault) -> None:
    """Run RECORDED steps, and one before them, in a capture window of nsys."""
    with made(fault) as loop:
        torch.cuda.cudart().cudaProfilerStart()
        for number in range(RECORDED + 1):
            loop.step(number, fault.size.micro_batches)
        wait()
        torch.cuda.cudart().cudaProfilerStop()


def main() -> None:
    """Measure or record what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=Path)
    parser.add_argument("--torch", type=Path)
    parser.add_argument("--nsys", action="store_true")
    parser.add_argument("--others", action="store_true", help="those of others.py")
    parser.add_argument("--only", nargs="*", help="names of loops")
    parser.add_argument("--tiny", action="store_true", help="sizes for trying it on a CPU")
    given = parser.parse_args()
    faults, clean = (OTHERS[1:], OTHERS[:1]) if given.others else (list(FAULTS), list(CLEAN))
    if given.tiny:
        faults = [Fault(each.name, TINY, each.make, each.end) for each in faults]
        clean = [Fault(each.name, TINY, each.make, each.end) for each in clean]
    if given.only:
        faults, clean = (
            [each for each in some if each.name in given.only] for some in (faults, clean)
        )
    if given.measure:
        measure(faults, given.measure)
        measure_alone(clean, given.measure)
    for number, fault in enumerate([*faults, *clean], start=1):
        try:
            if given.torch:
                trace(fault, given.torch)
            if given.nsys:
                open_window(fault)
                print("window", number, fault.name, flush=True)
        except Exception as error:
            print("window", number, fault.name, "failed:", type(error).__name__, error, flush=True)
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
