"""Benchmark one case: raw samples of every phase and its replay, and the environment.

None of it is profiled. After everything timed, a profiler finds what launched each phase's work.
"""

import json
import time
from functools import partial
from typing import Any

from workflow_src.common.arguments import new_file, stage_arguments
from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import AnyCase, case_of
from workflow_src.common.errors import one_sentence
from workflow_src.measure.compiling import first_call
from workflow_src.measure.cuda_graph import replays
from workflow_src.measure.energy import energies
from workflow_src.measure.gpu_state import WINDOW, Reading, add_readings, neighbors, watched
from workflow_src.measure.memory import peak_memory_mib, reset_peak
from workflow_src.measure.operators import add_launched
from workflow_src.measure.processes import ended_without_threads, measured_alone, result_of
from workflow_src.measure.rows import Row, said
from workflow_src.measure.timing import sample_steps
from workflow_src.measure.workload import Built, Workload, build, run_phases


def measure_phase(workload: Workload, phase: str, warmup_steps: int, steps: int) -> Row:
    """Warm up, then time `steps` steps of a phase; of a compiled case also the first call."""
    device, step = workload.case.device, workload.phase(phase)
    first = first_call(step, device) if workload.compiles else {}
    if "status" in first:
        return first
    reset_peak(device)
    samples = sample_steps(step, device, warmup_steps, steps)
    return samples | {"peak_memory_mib": peak_memory_mib(device)} | first | workload.told()


def measure(
    case: AnyCase, warmup_steps: int, steps: int, built: Built | None = None
) -> dict[str, Row]:
    """The row of each phase of a case."""

    def run(workload: Workload, phase: str) -> Row:
        start = time.monotonic_ns()
        row = measure_phase(workload, phase, warmup_steps, steps)
        return row | {WINDOW: [start, time.monotonic_ns()]}

    return dict(run_phases(case, run, built=built))


def measure_all(
    case: AnyCase,
    warmup_steps: int,
    steps: int,
    readings: list[Reading],
    energy_seconds: float = 0,
) -> tuple[Workload | None, dict[str, Row]]:
    """As `measure`, with the workload; on a CUDA device rows that are ok also have `replay` and, if
    it is asked for, `energy`, and `readings` is filled meanwhile.
    """
    built = build(case)
    workload, _ = built
    taken: dict[str, Row] = {}
    with watched(case.device, readings):
        rows = measure(case, warmup_steps, steps, built)
        if workload:
            taken = dict(energies(workload, rows, energy_seconds))
        if workload and case.device == "cuda":
            for phase, replay in replays(workload, rows, warmup_steps, steps):
                rows[phase]["replay"] = said(f"{case.case} {phase}, replayed", replay)
    add_readings([*rows.values(), *taken.values()], readings)
    for phase, energy in taken.items():
        rows[phase]["energy"] = energy
    return workload, rows


def benchmark(
    case: AnyCase,
    warmup_steps: int,
    steps: int,
    launched: bool = True,
    energy_seconds: float = 0,
) -> dict[str, Any]:
    """The result of a case, with the device to itself."""
    about = {"case": case.as_dict(), "warmup_steps": warmup_steps}
    readings: list[Reading] = []
    run = partial(measure_all, case, warmup_steps, steps, readings, energy_seconds)

    def finish(found: tuple[Workload | None, dict[str, Row]]) -> dict[str, Row]:
        workload, rows = found
        return add_launched(workload, rows) if workload and launched else rows

    found = measured_alone(case.case, case.as_dict(), "phases", run, finish)
    return about | found | {"during": neighbors(readings)}


@one_sentence()
def main() -> None:
    """Benchmark one plan row."""
    given = stage_arguments(__doc__, case=json.loads, output=new_file)
    row, case = given.case, case_of(given.case)
    first = row.get("process", 0) == 0
    energy_seconds = row.get("energy_seconds", 0) if first else 0
    run = partial(benchmark, case, row["warmup_steps"], row["steps"], first, energy_seconds)
    with ended_without_threads(case.case):
        write_json(given.output, result_of("workflow_src.measure.benchmark", row, run))


if __name__ == "__main__":
    main()
