"""Replays phases of a workload as CUDA graphs: what they take without a launch for each kernel.

Capturing may fail, so replays come after all that is measured without them.
"""

from collections.abc import Iterator, Mapping

import torch

from workflow_src.measure.cuda_graph import NotCapturableError, graphed
from workflow_src.measure.oom import Row, in_turn
from workflow_src.measure.timing import sample_steps
from workflow_src.measure.workload import Workload

REPLAYED = ("forward", "forward_backward")
"""The phases that are replayed; an optimizer step reads its state on the CPU."""

DID_NOT_FIT = "the phase itself did not fit in memory"
BROKEN = "CUDA no longer worked after a failed capture"


def replays(
    workload: Workload | None, eager: Mapping[str, Row], warmup_steps: int, steps: int
) -> Iterator[tuple[str, Row]]:
    """Each of REPLAYED with the row of its replay, given the rows of all phases without one.

    A row has `samples_ns` and `device_samples_ns`, or the status oom, skipped or not_capturable
    and the reason. `workload` is None if the model itself did not fit.
    """

    def run(phase: str) -> Row:
        if workload is None or eager[phase]["status"] != "ok":
            return {"status": "skipped", "reason": DID_NOT_FIT}
        if not works():
            return {"status": "skipped", "reason": BROKEN}
        workload.release()
        return replay(workload, phase, warmup_steps, steps)

    yield from in_turn(REPLAYED, run, workload.release if workload else lambda: None)


def replay(workload: Workload, phase: str, warmup_steps: int, steps: int) -> Row:
    """Time one phase as a CUDA graph; raw samples (ns), or the status not_capturable."""
    try:
        step = graphed(workload.phase(phase))
    except NotCapturableError as error:
        return {"status": "not_capturable", "reason": str(error)}
    return sample_steps(step, workload.case.device, warmup_steps, steps)


def works() -> bool:
    """Whether the current device still computes."""
    try:
        return torch.ones(1, device="cuda").add(1).item() == 2
    except RuntimeError:
        return False
