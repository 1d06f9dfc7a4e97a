"""Benchmark one case: raw samples of every phase, unprofiled, with the environment beside them."""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import Case
from workflow_src.common.devices import hold
from workflow_src.common.errors import one_sentence


def time_steps(
    step: Callable[[], object], synchronize: Callable[[], None], steps: int
) -> list[int]:
    """Wall-clock nanoseconds of each of `steps` calls, the device idle before and after each."""
    samples = []
    for _ in range(steps):
        synchronize()
        start = time.perf_counter_ns()
        step()
        synchronize()
        samples.append(time.perf_counter_ns() - start)
    return samples


def between_events(step: Callable[[], None], samples_ns: list[int]) -> Callable[[], None]:
    """`step` between two CUDA events; each call adds the nanoseconds between them."""
    import torch

    def run() -> None:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        step()
        end.record()
        end.synchronize()
        samples_ns.append(round(start.elapsed_time(end) * 1e6))

    return run


def peak_memory_mib(device: str) -> float:
    """Most memory held so far: allocated on the CUDA device, or resident for the CPU process."""
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated() / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_phase(workload: Any, phase: str, warmup_steps: int, steps: int) -> dict[str, Any]:
    """Warm up, then time `steps` steps of one phase: raw samples and the peak memory."""
    step = workload.phase(phase)
    on_device: list[int] = []
    if workload.case.device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()
        step = between_events(step, on_device)
    for _ in range(warmup_steps):
        step()
    on_device.clear()
    return {
        "samples_ns": time_steps(step, workload.synchronize, steps),
        "device_samples_ns": on_device,
        "peak_memory_mib": peak_memory_mib(workload.case.device),
    }


def measure(case: Case, warmup_steps: int, steps: int) -> dict[str, dict[str, Any]]:
    """Measure all phases of a case; each has a status of its own."""
    import torch

    from workflow_src.measure.oom import all_skipped, in_rising_order
    from workflow_src.measure.workload import Workload

    found: dict[str, dict[str, Any]] = {}

    def run(phase: str) -> None:
        found[phase] = measure_phase(workload, phase, warmup_steps, steps)
        print(f"{case.case} {phase}: {min(found[phase]['samples_ns']) / 1e6:.3f} ms at best")

    try:
        workload = Workload(case)
    except torch.OutOfMemoryError as error:
        outcomes = all_skipped("the model itself did not fit", str(error).split(". ")[0])
    else:
        outcomes = list(in_rising_order(workload, run))
    return {
        o.phase: {"status": o.status, "reason": o.reason} | found.get(o.phase, {}) for o in outcomes
    }


def benchmark(case: Case, warmup_steps: int, steps: int) -> dict[str, Any]:
    """The whole result of one case, measured on a device that nobody else measures on."""
    from workflow_src.common.environment import hardware, node, now, software, state

    with hold(case.device) as device:
        started_at, before = now(), state(device)
        phases = measure(case, warmup_steps, steps)
        return {
            "case": case.as_dict(),
            "warmup_steps": warmup_steps,
            "phases": phases,
            "environment": hardware(device) | software() | {"node": node(), "device_name": device},
            "before": before,
            "after": state(device),
            "started_at": started_at,
            "ended_at": now(),
        }


@one_sentence()
def main() -> None:
    """Benchmark one plan row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=json.loads, required=True, help="a plan row as JSON")
    parser.add_argument("--output", type=Path, required=True, help="JSON of raw samples")
    arguments = parser.parse_args()
    row = arguments.case
    result = benchmark(Case.from_dict(row), row["warmup_steps"], row["steps"])
    write_json(arguments.output, result)


if __name__ == "__main__":
    main()
