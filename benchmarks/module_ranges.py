"""What the ranges of a brought model's modules cost: blocks of steps without and with them.

Nobody listens to the ranges, as in a benchmark if hooks were left in it. With --profiled, under
nsys with -c cudaProfilerApi on a GPU, nsys records them, and those of a step's parts in all blocks.
"""

import argparse
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from workflow_src.cli.settings import configured
from workflow_src.common.case import Brought
from workflow_src.common.devices import hold
from workflow_src.common.errors import one_sentence
from workflow_src.common.summary import summarize
from workflow_src.measure.module_ranges import named_modules
from workflow_src.measure.timing import time_steps
from workflow_src.measure.windows import nsys_window
from workflow_src.measure.workload import Workload
from workflow_src.plan.suites import make_plan

PHASES = ("forward", "train_step")


def pairs_of_blocks(
    workload: Workload, phase: str, pairs: int, steps: int
) -> Iterator[tuple[float, float]]:
    """Median milliseconds of a step without and with ranges, of each pair of blocks.

    Every other pair begins with ranges.
    """
    for number in range(pairs):
        ms = {}
        for observed in (False, True) if number % 2 == 0 else (True, False):
            with workload.observed() if observed else nullcontext():
                samples = time_steps(workload.phase(phase), workload.synchronize, steps)
            ms[observed] = summarize(samples)["median_ms"]
        yield ms[False], ms[True]


def report(workload: Workload, phase: str, pairs: int, steps: int) -> None:
    """Warm up, measure, and print what ranges cost in a phase."""
    list(pairs_of_blocks(workload, phase, 2, steps))
    plain, ranges = np.array(list(pairs_of_blocks(workload, phase, pairs, steps))).T
    p20, median, p80 = np.percentile(ranges / plain, [20, 50, 80])
    more_us = np.median(ranges - plain) * 1e3
    print(
        f"{phase}: {np.median(plain):.3f} ms without, {np.median(ranges):.3f} ms with; "
        f"ratio {median:.4f} ({p20:.4f} to {p80:.4f}), {more_us:+.0f} us a step"
    )


def measure(case: Brought, pairs: int, steps: int) -> None:
    """Build a case's workload, and print what ranges cost in each of PHASES."""
    workload = Workload(case)
    modules = named_modules(workload.model, case.module_depth, case.module_fold)
    print(f"{case.case}: ranges of {len(modules)} modules")
    for phase in PHASES:
        report(workload, phase, pairs, steps)


def main() -> None:
    """Print the cost of module ranges for each case of a workload's axes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="examples/my_model.py:make")
    parser.add_argument("--axes", default="{}", help="as in --config 'axes={context: [128]}'")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=5, help="in a block")
    parser.add_argument("--profiled", action="store_true", help="open nsys's capture window")
    arguments = parser.parse_args()
    named = ("workload", "axes", "device")
    given = [f"{name}={getattr(arguments, name)}" for name in named]
    with one_sentence():
        plan = make_plan(configured(given), Path("nowhere"))
        window = nsys_window(plan.device) if arguments.profiled else nullcontext()
        with hold(plan.device, "module ranges"), window:
            for case in plan.cases:
                assert isinstance(case, Brought)
                measure(case, arguments.pairs, arguments.steps)


if __name__ == "__main__":
    main()
