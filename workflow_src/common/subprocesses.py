"""Programs that a stage starts, and that don't outlive it."""

import ctypes
import signal
import subprocess
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
"""prctl(2), Linux: the signal that this process gets when its parent ends."""


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_tied(command: Sequence[str]) -> int:
    """Run a program to its end; its exit status.

    Where this process is killed the program is too: it would go on measuring on a device whose
    lock went with this process.
    """
    return subprocess.run(command, check=False, preexec_fn=_end_with_parent).returncode
