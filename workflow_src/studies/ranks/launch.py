"""Runs the ranks of a point as processes of their own, none of which outlives it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from workflow_src.common.errors import StageError
from workflow_src.common.subprocesses import RAN_OUT, end_with_parent
from workflow_src.studies.study import Point

POLL_S = 0.05

INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
"""Environment variables for the network that ranks find each other by; set ones are kept."""


def run_ranks(module: str, point: Point, folder: Path) -> None:
    """Run `module` once per rank with the point, in a file of the folder, and wait for all.

    Raises StageError if one fails, or not all have ended after `limit_s` seconds; the others are
    ended then, as they would wait for it.
    """
    job = folder / "job.json"
    job.write_text(json.dumps(dict(point)), encoding="utf-8")
    command = [sys.executable, "-m", module, "--job", str(job), "--rank"]
    deadline = time.monotonic() + point["limit_s"]
    with _started([[*command, str(rank)] for rank in range(point["ranks"])]) as ranks:
        while any(rank.poll() is None for rank in ranks):
            _require_well(ranks)
            if time.monotonic() > deadline:
                raise StageError(_late(ranks, point["limit_s"]))
            time.sleep(POLL_S)
        _require_well(ranks)


@contextmanager
def _started(commands: Sequence[Sequence[str]]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes of some commands, which are killed if they live at the end."""
    parent = os.getpid()
    environment = dict.fromkeys(INTERFACES, "lo") | os.environ
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            ranks.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    preexec_fn=lambda: end_with_parent(parent, signal.SIGKILL),
                )
            )
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
        for rank in ranks:
            rank.wait()


def _require_well(ranks: Sequence[subprocess.Popen[bytes]]) -> None:
    failed = [number for number, rank in enumerate(ranks) if rank.poll()]
    if not failed:
        return
    status = ranks[failed[0]].returncode
    how = f"ended with status {status}; its own message stands above"
    if status == -signal.SIGKILL:
        how = f"was killed (signal 9); if nobody killed it, {RAN_OUT}"
    raise StageError(f"rank {failed[0]} of {len(ranks)} {how}; the others were ended")


def _late(ranks: Sequence[subprocess.Popen[bytes]], limit_s: int) -> str:
    running = [str(number) for number, rank in enumerate(ranks) if rank.poll() is None]
    return (
        f"of {len(ranks)} ranks, {', '.join(running)} had not ended after {limit_s} s "
        "and were killed; one of them hangs, or the point needs a greater limit_s"
    )
