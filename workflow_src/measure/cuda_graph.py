"""Replays work as a CUDA graph: the same kernels, launched together instead of one by one.

What a replay saves of a step's time was spent on launching. Capturing and replaying may fail, so
both come after all that is measured without them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from statistics import median

import torch

from workflow_src.common.errors import UnavailableError
from workflow_src.measure.rows import Row, in_turn
from workflow_src.measure.timing import FEWEST, Call, sample_steps
from workflow_src.measure.workload import Workload

BROKEN = "CUDA no longer worked after a failed capture"
ENOUGH_NS = 10**9
"""A phase is replayed for about this long. Replays of more than 0.1 s vary by 0.2 % or less on an
H100 (the 20th to the 80th percentile of ten), so that FEWEST of them tell as much as more."""

WARMUP_CALLS = 3
"""Calls on a side stream before capturing, as torch's documentation asks for."""


class NotCapturableError(UnavailableError):
    """A call can't be captured as a CUDA graph."""

    status = "not_capturable"


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
        # After a capture that CUDA broke off, torch refuses random numbers until another one
        # succeeds. In vain if CUDA no longer works.
        with suppress(RuntimeError), torch.cuda.graph(torch.cuda.CUDAGraph()):
            torch.cuda._sleep(0)
        if isinstance(first, torch.OutOfMemoryError):
            raise first from None
        raise NotCapturableError(summary(first)) from None
    return graph.replay


def first_error(error: RuntimeError) -> RuntimeError:
    """The error that `error` followed: ending a failed capture raises another, which says less."""
    earlier = error.__context__
    return first_error(earlier) if isinstance(earlier, RuntimeError) else error


def summary(error: RuntimeError) -> str:
    """The first sentence of an error's first line; CUDA adds advice on debugging below."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].split(". ")[0]


def replays(
    workload: Workload, eager: Mapping[str, Row], warmup_steps: int, steps: int
) -> Iterator[tuple[str, Row]]:
    """Each phase that ran with the row of its replay, given the `eager` rows of all.

    A row has `samples_ns`, or the status oom, skipped, not_capturable or failed.
    """

    def run(phase: str) -> Row:
        if not works():
            return {"status": "skipped", "reason": BROKEN}
        workload.release()
        return replay(workload, phase, *enough(eager[phase], warmup_steps, steps))

    ran = (phase for phase, row in eager.items() if row["status"] == "ok")
    yield from in_turn(ran, run, workload.release)


def enough(eager: Row, warmup_steps: int, steps: int) -> tuple[int, int]:
    """How often to replay a phase before and while timing it: as often as it ran itself, less often
    where that takes longer than ENOUGH_NS.
    """
    fit = int(ENOUGH_NS / median(eager["samples_ns"]))
    return min(warmup_steps, max(1, fit)), min(steps, max(FEWEST, fit))


def replay(workload: Workload, phase: str, warmup_steps: int, steps: int) -> Row:
    """Time one phase as a CUDA graph; raw samples (ns), or the status failed.

    Raises NotCapturableError, and what torch raises if memory runs out or the device no longer
    works: what broke it may have spoiled what was timed before.
    """
    try:
        with workload.capturable():
            step = graphed(workload.phase(phase))
            return sample_steps(step, workload.case.device, warmup_steps, steps)
    except (NotCapturableError, torch.OutOfMemoryError):
        raise
    except RuntimeError as error:
        if not works():
            raise
        return {"status": "failed", "reason": summary(first_error(error))}


def works() -> bool:
    """Whether the current device still computes; one whose memory is full does."""
    try:
        torch.cuda.synchronize()
        return torch.ones(1, device="cuda").add(1).item() == 2
    except torch.OutOfMemoryError:
        return True
    except RuntimeError:
        return False
