"""Benchmark one case: raw samples of every phase, unprofiled, and the environment."""

from functools import partial
from typing import Any

from workflow_src.common.arguments import Parser, new_file
from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import Case
from workflow_src.common.errors import one_sentence
from workflow_src.common.plan_row import plan_row
from workflow_src.measure.alone import measured_alone
from workflow_src.measure.machine import use_threads
from workflow_src.measure.memory import peak_memory_mib, reset_peak
from workflow_src.measure.oom import Row
from workflow_src.measure.phases import run_phases
from workflow_src.measure.processes import in_fresh_processes, merged
from workflow_src.measure.timing import between_events, elapsed_ns, event_pairs, time_steps
from workflow_src.measure.workload import Workload


def measure_phase(workload: Workload, phase: str, warmup_steps: int, steps: int) -> Row:
    """Warm up, then time `steps` steps of one phase: raw samples (ns) and peak memory (MiB)."""
    step, device = workload.phase(phase), workload.case.device
    pairs = event_pairs(warmup_steps + steps) if device == "cuda" else []
    unused = iter(pairs)

    def timed() -> None:
        between_events(next(unused), step)

    run = timed if pairs else step
    reset_peak(device)
    for _ in range(warmup_steps):
        run()
    return {
        "samples_ns": time_steps(run, workload.synchronize, steps),
        "device_samples_ns": elapsed_ns(pairs[warmup_steps:]) if pairs else [],
        "peak_memory_mib": peak_memory_mib(device),
    }


def measure(case: Case, warmup_steps: int, steps: int) -> dict[str, Row]:
    """The row of each phase of a case, each with its own status."""

    def run(workload: Workload, phase: str) -> Row:
        return measure_phase(workload, phase, warmup_steps, steps)

    return dict(run_phases(case, run))


def benchmark(case: Case, warmup_steps: int, steps: int) -> dict[str, Any]:
    """The complete result of one case, measured with the device to itself."""
    about = {"case": case.as_dict(), "warmup_steps": warmup_steps}
    run = partial(measure, case, warmup_steps, steps)
    return about | measured_alone(case.case, case.as_dict(), "phases", run)


@one_sentence()
def main() -> None:
    """Benchmark one plan row."""
    parser = Parser(description=__doc__)
    parser.add_argument(
        "--case",
        type=plan_row("warmup_steps", "steps", "processes"),
        required=True,
        help="a plan row as JSON",
    )
    parser.add_argument("--output", type=new_file, required=True, help="JSON of raw samples")
    arguments = parser.parse_args()
    row = arguments.case
    if row["processes"] > 1:
        results = in_fresh_processes("workflow_src.measure.benchmark", row, row["processes"])
        write_json(arguments.output, merged(results))
        return
    use_threads(row)
    result = benchmark(Case.from_dict(row), row["warmup_steps"], row["steps"])
    write_json(arguments.output, result)


if __name__ == "__main__":
    main()
