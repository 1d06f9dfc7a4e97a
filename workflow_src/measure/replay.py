"""Replays phases of a workload as CUDA graphs: what they take without a launch for each kernel.

Capturing and replaying may fail, so both come after all that is measured without them.
"""

from collections.abc import Iterator, Mapping
from statistics import median

import torch

from workflow_src.common.case import PHASES
from workflow_src.measure.cuda_graph import NotCapturableError, first_error, graphed, summary
from workflow_src.measure.oom import Row, in_turn
from workflow_src.measure.phases import NOTHING_TO_TRAIN
from workflow_src.measure.timing import FEWEST, sample_steps
from workflow_src.measure.workload import Workload

DID_NOT_FIT = "the phase itself did not fit in memory"
BROKEN = "CUDA no longer worked after a failed capture"
ENOUGH_NS = 10**9
"""A phase is replayed for about this long. Replays of more than 0.1 s vary by 0.2 % or less on an
H100 (the 20th to the 80th percentile of ten), so that FEWEST of them tell as much as more."""


def replays(
    workload: Workload | None, eager: Mapping[str, Row], warmup_steps: int, steps: int
) -> Iterator[tuple[str, Row]]:
    """Each of PHASES with the row of its replay, given the rows of all phases without one.

    A row has `samples_ns` and `device_samples_ns`, or the status oom, skipped, not_capturable or
    failed and the reason. `workload` is None if the model itself did not fit.
    """

    def run(phase: str) -> Row:
        if workload is None or eager[phase]["status"] != "ok":
            why = eager[phase]["reason"]
            said = why if why == NOTHING_TO_TRAIN else DID_NOT_FIT
            return {"status": "skipped", "reason": said}
        if not works():
            return {"status": "skipped", "reason": BROKEN}
        workload.release()
        return replay(workload, phase, *enough(eager[phase], warmup_steps, steps))

    yield from in_turn(PHASES, run, workload.release if workload else lambda: None)


def enough(eager: Row, warmup_steps: int, steps: int) -> tuple[int, int]:
    """How often to replay a phase before and while timing it, given its row without a replay.

    As often as the phase itself ran, and less often where that takes longer than ENOUGH_NS.
    """
    fit = int(ENOUGH_NS / median(eager["device_samples_ns"]))
    return min(warmup_steps, max(1, fit)), min(steps, max(FEWEST, fit))


def replay(workload: Workload, phase: str, warmup_steps: int, steps: int) -> Row:
    """Time one phase as a CUDA graph; raw samples (ns), or the status not_capturable or failed.

    Raises what torch raises if memory runs out, or if the device no longer works afterwards: what
    broke it may have spoiled what was timed before.
    """
    try:
        with workload.capturable():
            step = graphed(workload.phase(phase))
            return sample_steps(step, workload.case.device, warmup_steps, steps)
    except NotCapturableError as error:
        return {"status": "not_capturable", "reason": str(error)}
    except torch.OutOfMemoryError:
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
