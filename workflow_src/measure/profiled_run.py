"""Run one case's workload, with the device to itself, and a capture window around steady steps.

nsys profiles this program. Warm-up and out-of-memory probing come before the window and emit no
range, so that they can't affect any number of a capture.
"""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from workflow_src.common.arguments import Parser, new_file
from workflow_src.common.case import END_OF_CAPTURE, AnyCase, case_of
from workflow_src.common.devices import hold
from workflow_src.common.errors import one_sentence
from workflow_src.measure.compiling import refused
from workflow_src.measure.machine import host_id, host_speed, use_threads
from workflow_src.measure.memory import limited_memory
from workflow_src.measure.processes import ended_without_threads
from workflow_src.measure.rows import Row, say
from workflow_src.measure.timing import Call, run_through, several
from workflow_src.measure.windows import exported_torch_window, nsys_window
from workflow_src.measure.workload import Workload, build, run_phases
from workflow_src.model.ranges import range_

MIN_MARK_S = 1e-5


def warm_up(workload: Workload, steps: int) -> Sequence[str]:
    """Warm up; returns the phases that fit in memory, also one after another.

    One that barely fits alone may not fit again in fragmented memory. One more step of each finds
    out, and brings the allocator to a steady state.
    """
    phases: Sequence[str] = workload.phases
    for count in (max(steps, 1), 1):
        run = partial(_warmed, count)
        rows = run_phases(workload.case, run, phases, (workload, {}))
        phases = [name for name, row in rows if row["status"] == "ok"]
    return phases


def _warmed(steps: int, workload: Workload, phase: str) -> Row:
    device = workload.case.device
    run = several(partial(run_through, workload.phase(phase), device), steps)
    if workload.compiles:
        return refused(run, device)
    run()
    return {}


def run_steps(steps: Mapping[str, Call], count: int, about: Mapping[str, object]) -> None:
    """Run what is captured: `count` step ranges of each phase, then the closing range and, inside,
    a range called name=value for each fact `about` the capture.
    """
    for phase, step in steps.items():
        for _ in range(count):
            with range_(phase):
                step()
    with range_(END_OF_CAPTURE):
        time.sleep(MIN_MARK_S)
        for name, value in about.items():
            with range_(f"{name}={value}"):
                time.sleep(MIN_MARK_S)


def profiled_run(case: AnyCase, warmup_steps: int, steps: int, output: Path | None) -> None:
    """Warm up, open the window, run the steps of each phase that fits.

    torch.profiler writes to `output`; if that is None, nsys profiles from outside.
    """
    say(f"{case.case}: warming up")
    # The window is outside of the limit: a profiler's buffers are not the workload's memory.
    with limited_memory(case.device, case.memory_limit_gib):
        workload, _ = build(case)
        phases = warm_up(workload, warmup_steps) if workload else []
    about = {"host_id": host_id()} | host_speed(case.device)
    calls = {phase: workload.phase(phase) for phase in phases} if workload else {}
    calls = {phase: partial(run_through, call, case.device) for phase, call in calls.items()}

    def settle() -> None:
        for step in calls.values():
            step()

    window = (
        exported_torch_window(case.device, output, settle) if output else nsys_window(case.device)
    )
    say(f"{case.case}: capturing {steps} steps of {', '.join(phases) or 'no phase'}")
    with workload.observed() if workload else nullcontext(), window:
        run_steps(calls, steps, about)
    say(f"{case.case}: captured")


def main() -> None:
    """Run one plan row; without --output, under nsys."""
    parser = Parser(description=__doc__)
    parser.add_argument("--case", type=json.loads, required=True, help="a plan row as JSON")
    parser.add_argument("--output", type=new_file, help="trace of torch.profiler (.json.gz)")
    arguments = parser.parse_args()
    row = arguments.case
    use_threads(row)
    case = case_of(row)
    with (
        ended_without_threads(case.case),
        one_sentence(case.case),
        hold(case.device, case.case),
    ):
        profiled_run(case, row["warmup_steps"], row["capture_steps"], arguments.output)


if __name__ == "__main__":
    main()
