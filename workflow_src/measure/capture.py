"""Capture one case under its profiler: Nsight Systems (nsys 2023.4 to 2025.3) or torch.profiler."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_src.common.arguments import new_file, stage_arguments
from workflow_src.common.atomic_write import partial_folder
from workflow_src.common.devices import require_lockable
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.common.nsys_cli import version
from workflow_src.common.subprocesses import GAVE_NOTHING, how_it_ended, run_tied


def profile_command(output: Path, program: Sequence[str], device: str) -> list[str]:
    """The command that captures `program` into `output` (a name that ends in .nsys-rep).

    On a CUDA device the program opens and closes the window (cudaProfilerApi); on a CPU that call
    doesn't exist, and no range comes before the window. Sampling and context-switch tracing stay
    off: they made captures of gigabytes.
    """
    window = ["-c", "cudaProfilerApi", "--capture-range-end=stop"] if device == "cuda" else []
    quiet = ["-s", "none", "--cpuctxsw=none", "--force-overwrite=true"]
    return ["nsys", "profile", "-t", "cuda,nvtx", *quiet, *window, "-o", str(output), *program]


def profile(output: Path, program: Sequence[str], device: str) -> None:
    """Run `program` under nsys and write its capture to `output`.

    Once more if nsys's importer fails, which it may do for no lasting reason (seen with 2023.4).
    Raises TraceError if the program failed or nsys left no report.
    """
    version()
    command = profile_command(output, program, device)
    left = output.with_suffix(".qdstrm")
    status = run_tied(command).returncode
    if left.is_file() and not output.is_file():
        left.unlink()
        status = run_tied(command).returncode
    if output.is_file() and status == 0:
        return
    if left.is_file() and not output.is_file():
        raise TraceError(
            f"nsys left {left.name} and no report, twice: its importer failed, or did not run; "
            "install the library that it misses (libdw1 on Debian and Ubuntu) and capture again"
        )
    if output.is_file() or status:
        raise TraceError(f"the program under nsys {how_it_ended(status)}")
    raise TraceError(
        "nsys left no report: the program never opened the capture range (cudaProfilerStart), or "
        "nsys was ended before it could write"
    )


def recorder(row: dict[str, Any]) -> list[str]:
    """The command that runs a plan row's workload inside a capture window."""
    return [sys.executable, "-m", "workflow_src.measure.profiled_run", "--case", json.dumps(row)]


def capture(row: dict[str, Any], output: Path) -> None:
    """Capture a plan row into `output`, atomically.

    The program holds the device, not this process: a profiler that starts or writes its report
    keeps no measurement waiting. Raises DeviceError without such a device, TraceError if the
    program or its profiler fails.
    """
    require_lockable(row["device"])
    with partial_folder(output) as folder:
        partial = folder / output.name
        if row["profiler"] == "nsys":
            profile(partial, recorder(row), row["device"])
        else:
            status = run_tied([*recorder(row), "--output", str(partial)]).returncode
            if status or not partial.exists():
                how = how_it_ended(status) if status else GAVE_NOTHING
                raise TraceError(f"the program under torch.profiler {how}")
        partial.replace(output)


def main() -> None:
    """Capture one plan row."""
    given = stage_arguments(__doc__, case=json.loads, output=new_file)
    with one_sentence(given.case["case"]):
        capture(given.case, given.output)


if __name__ == "__main__":
    main()
