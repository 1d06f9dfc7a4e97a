"""nsys's own summary of the small module's kernels, before and after SDPA."""

import argparse
import io
import json
import sys
import tempfile
from pathlib import Path

import pandas as pd

from workflow_src.measure.profiled_run import nsys_window
from workflow_src.studies.attention.module import VERSIONS, module_task, shared, versions
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import synchronize
from workflow_src.traces import nsys
from workflow_src.traces.families import families
from workflow_src.traces.kernel_names import short_names
from workflow_src.traces.trace import TraceError

WARMUP_PASSES, PASSES = 5, 10
"""Passes, forward and backward, before nsys's window opens and inside it."""


def measure_summaries(point: Point) -> list[Row]:
    """A row per version and kernel that nsys summarizes, or one that says why there is none."""
    if point["device"] != "cuda":
        return []
    return [
        {"sweep": "nsys"} | about | row
        for about in versions(point)
        for row in _summary(point, about["implementation"], about["context"])
    ]


def _summary(point: Point, implementation: str, context: int) -> list[Row]:
    program = [sys.executable, "-m", __name__, "--point", json.dumps(dict(point))]
    program += ["--implementation", implementation, "--context", str(context)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            capture = Path(folder, "module.nsys-rep")
            nsys.profile(capture, program, point["device"], os_tracing=False)
            return summary_rows(nsys.stats(capture, "cuda_gpu_kern_sum"))
    except TraceError as error:
        return [{"status": "skipped", "reason": str(error)}]


def summary_rows(printed: str) -> list[Row]:
    """A row per kernel of what `nsys stats` cuda_gpu_kern_sum printed of PASSES passes.

    Raises TraceError where it printed none.
    """
    if not printed:
        raise TraceError("nsys summarized no kernel of the module")
    table = pd.read_csv(io.StringIO(printed))
    names = table["Name"]
    table = table.assign(kernel=short_names(names), family=families(names))
    table = table.rename(columns={"Instances": "calls", "Total Time (ns)": "busy_ns"})
    grouped = table.groupby(["kernel", "family"])[["calls", "busy_ns"]].sum().reset_index()
    return [{"passes": PASSES} | row for row in shared(grouped)]


def run(point: Point, implementation: str, context: int) -> None:
    """The program that nsys profiles: warm-up, then PASSES passes in its window."""
    task = module_task(point, implementation, context)
    for _ in range(WARMUP_PASSES):
        task.forward_and_backward()
    synchronize(task.device)
    with nsys_window(task.device):
        for _ in range(PASSES):
            task.forward_and_backward()


def main() -> None:
    """Run one version of the module in nsys's window."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--point", type=json.loads, required=True, help="the point as JSON")
    parser.add_argument("--implementation", choices=VERSIONS, required=True)
    parser.add_argument("--context", type=int, required=True)
    given = parser.parse_args()
    run(given.point, given.implementation, given.context)


if __name__ == "__main__":
    main()
