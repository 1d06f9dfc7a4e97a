"""Names and ends the processes that a test leaves behind, told by a mark in their environment."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

VARIABLE = "STEP_TIME_TESTS"
GRACE_S = float(os.environ.get("STEP_TIME_GRACE_S", 120))
"""How long a process may take to end that is about to; only one that doesn't end is waited for."""

END_BY_THEMSELVES = ("multiprocessing.resource_tracker", "torch/_inductor/compile_worker")
"""Helpers of Python's and of torch.compile's own, which end with the process that started them."""


def marked(mark: str, processes: Path = Path("/proc")) -> dict[int, str]:
    """The command of each process with STEP_TIME_TESTS=`mark` in its environment, by its id."""
    found = {}
    for process in processes.glob("[0-9]*"):
        with suppress(OSError):
            ended = (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            variables = (process / "environ").read_bytes().split(b"\0")
            if f"{VARIABLE}={mark}".encode() in variables and not ended:
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if not any(helper in command for helper in END_BY_THEMSELVES):
                    found[int(process.name)] = command.strip()
    found.pop(os.getpid(), None)
    return found


def still_there(mark: str, grace_s: float = GRACE_S) -> dict[int, str]:
    """Those of `marked` that don't end within `grace_s` seconds."""
    deadline = time.monotonic() + grace_s
    while (found := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


@contextmanager
def marking(mark: str) -> Iterator[None]:
    """Give the processes started inside a mark of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, mark)
        yield


def end(mark: str) -> None:
    """Kill every process with the mark."""
    for number in marked(mark):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
