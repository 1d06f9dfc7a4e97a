"""Run a program and end everything that it started: when it ends, and when this process is told to.

python -m workflow_src.common.supervisor PROGRAM ARGUMENT...

That includes what moved to a session of its own, as nsys's agent does: a process whose parent ends
becomes a child of this one.
"""

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from workflow_src.common.subprocesses import end_with_parent

PR_SET_CHILD_SUBREAPER = 36
"""Option of Linux's prctl(2): descendants whose parent ends become children of this process."""

STOPPED_BY = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def children() -> list[int]:
    """Process ids of the children of this process."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            found += [int(process.name)] if int(parent) == os.getpid() else []
    return found


def end_children() -> None:
    """Kill every child, and those that become children thereby, and wait for them."""
    for number in STOPPED_BY:
        signal.signal(number, signal.SIG_IGN)
    while True:
        for child in children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def main() -> None:
    """Run the program; exit with its status, or 128 + n if signal n killed it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in STOPPED_BY:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    parent = os.getpid()
    try:
        status = subprocess.call(
            sys.argv[1:], preexec_fn=lambda: end_with_parent(parent, signal.SIGKILL)
        )
    finally:
        end_children()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
