"""Programs that a stage starts and that don't outlive it."""

import ctypes
import signal
import subprocess
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl(2) that sets the signal a process gets when its parent dies."""


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_tied(command: Sequence[str]) -> int:
    """Run a program to completion and return its exit status.

    If this process is killed, so is the program; otherwise it would go on measuring on a device
    whose lock was released with this process.
    """
    return subprocess.run(command, check=False, preexec_fn=_end_with_parent).returncode
