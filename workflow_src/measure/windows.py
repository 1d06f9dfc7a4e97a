"""The profilers' capture windows: only what runs inside one is captured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from workflow_src.model.ranges import listening


@contextmanager
def nsys_window(device: str) -> Iterator[None]:
    """Open nsys's capture window, and send ranges to nsys while inside."""
    if device == "cuda":
        torch.cuda.profiler.start()
    with listening("nsys"):
        yield
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


@contextmanager
def torch_window(
    device: str, settle: Callable[[], object], shapes: bool = False
) -> Iterator[profile]:
    """Open torch.profiler's window; the yielded profile holds its events afterwards.

    Kineto drops kernels at the very start of a session, so `settle` runs first, in its warm-up.
    With `shapes`, operators' inputs are recorded.
    """
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    steps = schedule(wait=0, warmup=1, active=1)
    with profile(activities=activities, schedule=steps, record_shapes=shapes) as profiler:
        settle()
        profiler.step()
        yield profiler


@contextmanager
def exported_torch_window(
    device: str, output: Path, settle: Callable[[], object]
) -> Iterator[None]:
    """torch.profiler's window with ranges; its trace is exported to `output` (.json.gz)."""
    with torch_window(device, settle) as profiler, listening("torch"):
        yield
    profiler.export_chrome_trace(str(output))
