"""Runs forward steps with a fault injected, inside nsys's capture window: see test_gpu_ledger.py.

The range "fault" encloses each fault. It is in each layer but the first, where the host is not
ahead of the device yet.
"""

import json
import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn

from workflow_src.common.case import Case
from workflow_src.measure.profiled_run import run_step, run_steps
from workflow_src.measure.windows import nsys_window
from workflow_src.measure.workload import Workload
from workflow_src.model.ranges import range_

STEPS = 10
PAGEABLE = torch.empty(4 * 2**20)


def faults() -> dict[str, Callable[[Tensor], object]]:
    return {
        "synchronize": lambda x: torch.cuda.synchronize(),
        "item": lambda x: x.flatten()[0].item(),
        "pageable": lambda x: PAGEABLE.to(x.device),
    }


def inject(blocks: nn.ModuleList, fault: str) -> None:
    """Let `fault` happen before layers of a model."""
    run = faults()[fault]

    def before(block: nn.Module, inputs: tuple[Tensor]) -> None:
        with range_("fault"):
            run(inputs[0])

    for block in blocks[1:]:
        block.register_forward_pre_hook(before)


def main() -> None:
    workload, fault = Workload(Case.from_dict(json.loads(sys.argv[1]))), sys.argv[2]
    for _ in range(4):
        run_step(workload, "forward")
    inject(workload.model.blocks, fault)
    for _ in range(2):
        run_step(workload, "forward")
    with nsys_window("cuda"):
        run_steps(workload, ["forward"], STEPS, {})


if __name__ == "__main__":
    main()
