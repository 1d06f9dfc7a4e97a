"""Timing and profiling of single calls, shared by the studies."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch

from workflow_src.measure.benchmark import time_steps
from workflow_src.traces import kineto
from workflow_src.traces.families import families
from workflow_src.traces.kernel_names import short_names


def synchronize(device: str) -> None:
    """Wait until the device has done all that was launched."""
    if device == "cuda":
        torch.cuda.synchronize()


def time_call(call: Callable[[], object], device: str, warmup_steps: int, steps: int) -> list[int]:
    """Nanoseconds of each of `steps` calls, after `warmup_steps` that don't count.

    On a CUDA device the time between two events around each call, elsewhere wall-clock time.
    """
    for _ in range(warmup_steps):
        call()
    synchronize(device)
    if device != "cuda":
        return time_steps(call, lambda: None, steps)
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(steps)]
    for start, end in pairs:
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [round(start.elapsed_time(end) * 1e6) for start, end in pairs]


def activities_of(call: Callable[[], object], device: str) -> pd.DataFrame:
    """What the device did in one call: name, short_name, family, operator, duration_ns, kind.

    Kernels, copies and sets on a CUDA device, operators with their self time on a CPU.
    """
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=1)
    with torch.profiler.profile(activities=kinds, schedule=schedule) as profiler:
        call()
        synchronize(device)
        profiler.step()
        call()
        synchronize(device)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json.gz")
        profiler.export_chrome_trace(str(path))
        found = kineto.read(path).activities
    return found.assign(short_name=short_names(found["name"]), family=families(found["name"]))
