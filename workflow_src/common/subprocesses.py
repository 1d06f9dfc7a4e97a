"""Programs that a stage starts and that don't outlive it."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl(2) that sets the signal a process gets when its parent dies."""

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

    However this process or the program ends, so does everything that the program started: it would
    go on measuring on a device whose lock was released with this process.
    """
    parent = os.getpid()
    pipe = subprocess.PIPE if capture_output else None
    supervised = [sys.executable, "-m", "workflow_src.common.supervisor", *command]
    with subprocess.Popen(
        supervised,
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
    """What the status of `run_tied` means, to follow the program's name in a sentence."""
    if status == 128 + signal.SIGKILL:
        return f"was killed (signal 9); if nobody killed it, {RAN_OUT}"
    return f"ended with status {status}; its own message stands above"


@contextmanager
def told_if_killed(what: str) -> Iterator[None]:
    """Have another process print a sentence about `what` if this one is killed inside.

    A process that the kernel kills, as it does when memory runs out, can't say so itself.
    """
    command = [sys.executable, "-m", "workflow_src.common.obituary", what]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        watcher.communicate("ended")
