"""Capturing a program with Nsight Systems (nsys), 2023.4 to 2025.3."""

from collections.abc import Sequence
from pathlib import Path

from workflow_src.common.errors import TraceError
from workflow_src.common.nsys_cli import version
from workflow_src.common.subprocesses import how_it_ended, run_tied


def profile_command(
    output: Path, program: Sequence[str], device: str, os_tracing: bool
) -> list[str]:
    """The command that captures `program` into `output` (a name that ends in .nsys-rep).

    On a CUDA device the program itself opens and closes the capture window (cudaProfilerApi),
    after its warm-up; on a CPU that call doesn't exist, and the program emits no range before its
    window. Sampling and context-switch tracing stay off: they made captures of gigabytes.
    """
    traced = "cuda,nvtx,osrt" if os_tracing else "cuda,nvtx"
    window = ["-c", "cudaProfilerApi", "--capture-range-end=stop"] if device == "cuda" else []
    quiet = ["-s", "none", "--cpuctxsw=none", "--force-overwrite=true"]
    return ["nsys", "profile", "-t", traced, *quiet, *window, "-o", str(output), *program]


def profile(output: Path, program: Sequence[str], device: str, os_tracing: bool) -> None:
    """Run `program` under nsys and write its capture to `output`.

    Once more if nsys's importer fails, which it may do for no lasting reason (seen with 2023.4).
    Raises TraceError, with the cause, if the program failed or nsys left no report.
    """
    version()
    command = profile_command(output, program, device, os_tracing)
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
