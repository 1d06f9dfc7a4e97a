"""Capture one case under its profiler."""

import json
import sys
from pathlib import Path
from typing import Any

from workflow_src.common.arguments import Parser, add_plan_row, new_file
from workflow_src.common.atomic_write import partial_folder
from workflow_src.common.devices import require_lockable
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.common.subprocesses import GAVE_NOTHING, how_it_ended, run_tied
from workflow_src.measure import nsys_profile


def recorder(row: dict[str, Any]) -> list[str]:
    """The command that runs a plan row's workload inside a capture window."""
    return [sys.executable, "-m", "workflow_src.measure.profiled_run", "--case", json.dumps(row)]


def capture(row: dict[str, Any], output: Path) -> None:
    """Capture a plan row into `output`, which is written atomically.

    The program holds the device, not this process: a profiler that starts or writes its report
    keeps no other measurement waiting. Raises DeviceError if there is no such device, TraceError
    if the program or its profiler fails.
    """
    require_lockable(row["device"])
    with partial_folder(output) as folder:
        partial = folder / output.name
        if row["profiler"] == "nsys":
            nsys_profile.profile(partial, recorder(row), row["device"], row["os_tracing"])
        else:
            status = run_tied([*recorder(row), "--output", str(partial)]).returncode
            if status or not partial.exists():
                how = how_it_ended(status) if status else GAVE_NOTHING
                raise TraceError(f"the program under torch.profiler {how}")
        partial.replace(output)


def main() -> None:
    """Capture one plan row."""
    parser = Parser(description=__doc__)
    add_plan_row(parser)
    parser.add_argument("--output", type=new_file, required=True, help="the capture")
    arguments = parser.parse_args()
    with one_sentence(arguments.case["case"]):
        capture(arguments.case, arguments.output)


if __name__ == "__main__":
    main()
