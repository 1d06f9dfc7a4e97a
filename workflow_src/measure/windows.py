"""The profilers' capture windows: only what runs inside one is captured."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from workflow_src.measure.timing import Call, run_through, synchronize
from workflow_src.model.ranges import listening

DETACH = "TEARDOWN_CUPTI"
"""The environment variable by which Kineto has CUPTI detach: if it is 1."""

SESSIONS = 3
"""How often torch.profiler may record nothing before that counts as a failure."""

Found = TypeVar("Found")


@contextmanager
def nsys_window(device: str) -> Iterator[None]:
    """Open nsys's capture window, and send ranges to it."""
    if device == "cuda":
        torch.cuda.profiler.start()
    with listening("nsys"):
        yield
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


@contextmanager
def torch_window(device: str, settle: Call, shapes: bool = False) -> Iterator[profile]:
    """Open torch.profiler's window; the yielded profile holds its events afterwards.

    Kineto drops kernels at the very start of a session, so `settle` runs first, in its warm-up.
    With `shapes`, operators' inputs are recorded. CUPTI, which records CUDA's activities, is
    detached afterwards: Kineto leaves it attached, and every later launch takes longer, by half on
    an H200's host (https://github.com/pytorch/pytorch/issues/144455).
    """
    os.environ.setdefault(DETACH, "1")
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    steps = schedule(wait=0, warmup=1, active=1)
    with profile(activities=activities, schedule=steps, record_shapes=shapes) as profiler:
        settle()
        profiler.step()
        yield profiler
    # CUPTI detaches in the next call, which must not be one that is timed.
    synchronize(device)


def profiled(call: Call, device: str, read: Callable[[Any], Found], inputs: bool = False) -> Found:
    """What `read` finds in torch.profiler's record of one call, as Kineto gave it.

    The call runs once before, to settle. With `inputs`, those of operators are recorded, and the
    model emits its ranges. Where CUPTI has detached before, a session of a call of 1 ms on an H200
    recorded nothing: the first of SESSIONS that finds something counts. Raises RuntimeError if none
    does.
    """
    run = partial(run_through, call, device)
    for _ in range(SESSIONS):
        with torch_window(device, run, inputs) as profiler, listening("torch" if inputs else None):
            run()
        assert profiler.profiler is not None, "the window has been open"
        # Without garbage collection: 30 % of the time that rows of events take on a CPU.
        gc.disable()
        try:
            if found := read(profiler.profiler.kineto_results):
                return found
        finally:
            gc.enable()
    raise RuntimeError(f"torch.profiler recorded nothing in {SESSIONS} sessions")


@contextmanager
def exported_torch_window(device: str, output: Path, settle: Call) -> Iterator[None]:
    """torch.profiler's window with ranges; its trace is exported to `output` (.json.gz)."""
    with torch_window(device, settle) as profiler, listening("torch"):
        yield
    profiler.export_chrome_trace(str(output))
