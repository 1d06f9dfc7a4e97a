"""Programs that a stage starts and that don't outlive it.

python -m workflow_src.common.subprocesses PROGRAM ARGUMENT...: runs a program and ends everything
that it started: when it ends, and when this process is told to. That includes what moved to a
session of its own, as nsys's agent does: a process whose parent ends becomes a child of this one.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
"""Options of Linux's prctl(2): the signal that a process gets when its parent dies, and that
descendants whose parent ends become children of this process."""

STOPPED_BY = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

RAN_OUT = "memory ran out, most likely: set memory_limit_gib, or measure less"

GAVE_NOTHING = "ended without a result, and without an error: what it ran called os._exit, perhaps"


def end_with_parent(parent: int, number: int) -> None:
    """Have this process get signal `number` when `parent`, which started it, dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def run_tied(
    command: Sequence[str], capture_output: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program to completion; its status is 128 + n if signal n killed it.

    However this process or the program ends, so does all that it started, which would go on
    measuring on a device whose lock is released.
    """
    parent = os.getpid()
    pipe = subprocess.PIPE if capture_output else None
    with subprocess.Popen(
        [sys.executable, "-m", "workflow_src.common.subprocesses", *command],
        stdout=pipe,
        stderr=pipe,
        text=True,
        preexec_fn=lambda: end_with_parent(parent, signal.SIGTERM),
    ) as supervisor:
        try:
            out, err = supervisor.communicate()
        except BaseException:
            supervisor.terminate()
            supervisor.wait()
            raise
    return subprocess.CompletedProcess(command, supervisor.returncode, out, err)


def how_it_ended(status: int) -> str:
    """What a status of `run_tied` means, to follow the program's name."""
    if status == 128 + signal.SIGKILL:
        return f"was killed (signal 9); if nobody killed it, {RAN_OUT}"
    return f"ended with status {status}; its own message stands above"


def _end_children() -> None:
    """Kill every child, and those that become children thereby, and wait for them."""
    for number in STOPPED_BY:
        signal.signal(number, signal.SIG_IGN)
    while True:
        for process in Path("/proc").glob("[0-9]*"):
            # It may end meanwhile.
            with suppress(OSError):
                parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == os.getpid():
                    os.kill(int(process.name), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _run(command: Sequence[str]) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in STOPPED_BY:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    parent = os.getpid()
    try:
        status = subprocess.call(
            command, preexec_fn=lambda: end_with_parent(parent, signal.SIGKILL)
        )
    finally:
        _end_children()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    _run(sys.argv[1:])
