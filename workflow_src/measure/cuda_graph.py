"""Replays work as a CUDA graph: the same kernels, launched together instead of one by one.

What a replay saves of a step's time was spent on launching.
"""

from collections.abc import Callable
from contextlib import suppress

import torch

from workflow_src.measure.timing import Call

WARMUP_CALLS = 3
"""Calls on a side stream before capturing, as torch's documentation asks for."""


class NotCapturableError(Exception):
    """A call can't be captured as a CUDA graph; the message says why."""


def graphed(call: Call) -> Callable[[], None]:
    """A function that replays `call` as a CUDA graph on the current device.

    Raises NotCapturableError if it can't be captured, and what `call` itself raises.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARMUP_CALLS):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        # A capture that fails leaves its stream the current one.
        with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(graph):
            call()
    except RuntimeError as error:
        first = first_error(error)
        _recover()
        if isinstance(first, torch.OutOfMemoryError):
            raise first from None
        raise NotCapturableError(summary(first)) from None
    return graph.replay


def _recover() -> None:
    """Capture something that can be, in vain if CUDA no longer works.

    After a capture that CUDA broke off, torch refuses random numbers until another one succeeds.
    """
    with suppress(RuntimeError), torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.cuda._sleep(0)


def first_error(error: RuntimeError) -> RuntimeError:
    """The error that `error` followed: ending a failed capture raises another, which says less."""
    earlier = error.__context__
    return first_error(earlier) if isinstance(earlier, RuntimeError) else error


def summary(error: RuntimeError) -> str:
    """The first sentence of an error's first line; CUDA adds advice on debugging below."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].split(". ")[0]
