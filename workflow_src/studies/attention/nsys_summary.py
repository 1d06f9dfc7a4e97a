"""nsys's own summary of the small module's kernels, before and after SDPA."""

import csv
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from workflow_src.common import nsys_cli
from workflow_src.common.arguments import Parser, positive_integer
from workflow_src.common.errors import TraceError
from workflow_src.measure.activities import Activity
from workflow_src.measure.memory_limit import limited_memory
from workflow_src.measure.timing import synchronize
from workflow_src.measure.windows import nsys_window
from workflow_src.studies.attention.module import module_task, versions
from workflow_src.studies.attention.points import MODULE, VERSIONS
from workflow_src.studies.run_point import point_of
from workflow_src.studies.study import Point, Row


def measure_summaries(point: Point) -> list[Row]:
    """A row per version with the kernels that nsys summarizes, or the reason why it has none.

    Empty on a CPU, which runs no kernels.
    """
    if point["device"] != "cuda":
        return []
    return [
        {"sweep": "nsys"} | about | _summary(point, about["implementation"], about["context"])
        for about in versions(point)
    ]


def _summary(point: Point, implementation: str, context: int) -> Row:
    program = [sys.executable, "-m", __name__, "--point", json.dumps(dict(point))]
    program += ["--implementation", implementation, "--context", str(context)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            capture = Path(folder, "module.nsys-rep")
            nsys_cli.profile(capture, program, point["device"], os_tracing=False)
            found = summarized(nsys_cli.stats(capture, "cuda_gpu_kern_sum"))
    except TraceError as error:
        return {"status": "skipped", "reason": str(error)}
    return {"status": "ok", "reason": "", "passes": point["passes"], "activities": found}


def summarized(printed: str) -> list[Row]:
    """The activities (see measure.activities) that `nsys stats` cuda_gpu_kern_sum printed.

    Their operator and range are empty, as nsys's summary has neither. Raises TraceError if it
    printed none.
    """
    lines = list(csv.DictReader(printed.splitlines()))
    if not lines:
        raise TraceError("nsys summarized no kernel of the module")
    return [
        asdict(Activity(range="", kind="kernel", operator="", name=line["Name"]))
        | {"calls": int(line["Instances"]), "busy_ns": int(line["Total Time (ns)"])}
        for line in lines
    ]


def run(point: Point, implementation: str, context: int) -> None:
    """The program that nsys profiles: warm-up, then `passes` passes in its window."""
    task = module_task(point, implementation, context)
    for _ in range(point["warmup_passes"]):
        task.forward_and_backward()
    synchronize(task.device)
    with nsys_window(task.device):
        for _ in range(point["passes"]):
            task.forward_and_backward()


def main() -> None:
    """Run one version of the module in nsys's window."""
    parser = Parser(description=__doc__)
    parser.add_argument("--point", type=point_of(MODULE), required=True, help="the point as JSON")
    parser.add_argument("--implementation", choices=VERSIONS, required=True)
    parser.add_argument("--context", type=positive_integer, required=True)
    given = parser.parse_args()
    with limited_memory(given.point["device"], given.point.get("memory_limit_gib")):
        run(given.point, given.implementation, given.context)


if __name__ == "__main__":
    main()
