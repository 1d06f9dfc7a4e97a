"""A copy of the project in which to run snakemake, log its stages and make them fail."""

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from filelock import FileLock

from workflow_src.plan.config import check, read_config

ROOT = Path(__file__).parent.parent
PARTS = (
    "Snakefile",
    "config.yaml",
    "rules",
    "profiles",
    "workflow_src",
    "report_templates",
    "tools",
)
SUITE = ("suite=smoke", "warmup_steps=1", "steps=2", "capture_steps=1", "cpu_threads=1")
"""One thread, because there is a test worker on each core."""

# Replaces `python` in the rules: logs what runs, and makes chosen stages fail or be killed.
WATCH = """#!/bin/sh
echo "start $2 $(date +%s%N) $*" >> "$WATCH_LOG"
if [ "$WATCH_STAGE" = "$2" ] && { [ -z "$WATCH_CASE" ] || case "$*" in *"$WATCH_CASE"*) true;;
    *) false;; esac; }; then
    [ -n "$WATCH_KILL" ] || { echo "injected failure of $2" >&2; exit 1; }
    exec PYTHON -c "$WATCH_KILL" "$@"
fi
if [ -n "$WATCH_SERVER" ]; then
    PYTHON -I -S CLIENT "$@"
else
    PYTHON "$@"
fi
status=$?
echo "end $2 $(date +%s%N) $status" >> "$WATCH_LOG"
exit $status
"""


KILLED = """
import os, runpy, sys
os.replace = os.rename = lambda *paths: os.kill(os.getpid(), 9)
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Runs a stage that is killed when it has written its first output, and would move it in place."""

# Takes Python's place in a served stage, so that the program that a capture records is served, too.
PROGRAM = """#!/bin/sh
[ "$2" = workflow_src.measure.profiled_run ] && exec PYTHON -I -S CLIENT "$@"
exec PYTHON "$@"
"""

SHARED = "STEP_TIME_STAGES"
"""The variable with the socket of the server of stages that all workers share."""

# Takes the place of snakemake's command where others start it; it needs WATCH_SERVER.
SERVED = """#!/bin/sh
exec PYTHON -I -S CLIENT -m snakemake "$@"
"""

ON_A_CLUSTER = {"--profile", "--cluster", "--executor"}

_servers: list["subprocess.Popen[str]"] = []
_sockets = TemporaryDirectory()
_starting = threading.Lock()
"""Held by the thread that starts a server: stories are told in threads."""


def snakemake(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str]:
    """The exit status of a snakemake with `arguments`, and all that it printed.

    A process of its own, forked from the server of stages.
    """
    return forked(["snakemake", *arguments], folder, environment)


def run_and_wait(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str]:
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def stage_server(python: str = sys.executable) -> str:
    """The socket of the server of stages in an environment (see stage_server.py).

    Workers of pytest-xdist share that of their own environment (see shared.py).
    """
    if python == sys.executable and SHARED in os.environ:
        return os.environ[SHARED]
    with _starting:
        return _stage_server(python)


@cache
def _stage_server(python: str) -> str:
    path = f"{_sockets.name}/{len(_servers)}"
    _servers.append(start_stage_server(path, python))
    return path


def start_stage_server(path: str, python: str = sys.executable) -> "subprocess.Popen[str]":
    """A server of stages that listens at `path`; it ends with its input."""
    command = [python, "-P", str(ROOT / "tests" / "stage_server.py"), path]
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, cwd="/", stdin=pipe, stdout=pipe, text=True)
    assert server.stdout is not None and server.stdout.readline() == "ready\n"
    return server


def forked(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """The exit status and the output of `python -m` with these words, by the server of stages."""
    client = str(ROOT / "tests" / "stage_client.py")
    command = [sys.executable, "-I", "-S", client, "-m", *words]
    return run_and_wait(command, folder, {**environment, "WATCH_SERVER": stage_server()})


def served_stage(folder: Path, module: str, *arguments: str, **settings: str) -> tuple[int, str]:
    """The exit status and the output of `python -m module`, forked from the server of stages."""
    return forked([module, *arguments], folder, os.environ | settings)


def end_servers() -> None:
    for server in _servers:
        server.communicate()


def load(path: Path) -> dict[str, Any]:
    """A configuration file, read and checked."""
    return check(read_config(path))


@dataclass(frozen=True)
class Project:
    """A working copy, and a log of what ran in it."""

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of each run."""

    @property
    def log(self) -> Path:
        return self.folder / "watch.log"

    def run(self, *arguments: str, check: bool = True, **watch: str) -> str:
        """Run snakemake and return its output. `watch` sets WATCH_STAGE, _CASE and _KILL."""
        watching = {f"WATCH_{key.upper()}": value for key, value in watch.items()}
        path = f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | self.settings | watching
        environment |= {"PATH": path, "WATCH_LOG": str(self.log)}
        target = (
            ()
            if any(a == "all" or a.startswith(("results/", "report.")) for a in arguments)
            else ("report.md",)
        )
        given = ["--cores", "2", *target, *arguments]
        if "--config" not in arguments:
            given += ["--config", *SUITE]
        if not ON_A_CLUSTER.isdisjoint(arguments):
            # Its processes are found by their command lines, and its jobs run on other nodes.
            server = {"WATCH_SERVER": stage_server()}
            status, printed = run_and_wait(["snakemake", *given], self.folder, environment | server)
        else:
            status, printed = snakemake(given, self.folder, environment)
        assert (status == 0) == check, printed
        return printed

    def stale(self, *arguments: str) -> dict[str, int]:
        """The number of jobs of each rule that would run now."""
        printed = self.run("-n", *arguments)
        counts = re.findall(r"^(\w+) +(\d+)$", printed, flags=re.MULTILINE)
        return {rule: int(count) for rule, count in counts if rule not in ("total", "all")}

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new))

    def stages(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split()[1] for line in lines if line.startswith("start ")]

    def results(self) -> set[str]:
        files = [path for path in self.folder.glob("results/**/*") if path.is_file()]
        names = {str(path.relative_to(self.folder)) for path in files}
        return {name for name in names if "/logs/" not in name} | {
            name for name in ("report.md", "report.html") if (self.folder / name).exists()
        }

    def serve_snakemake(self) -> dict[str, str]:
        """Variables with which `snakemake` is forked from the server of stages here."""
        write_script(self.folder / "bin" / "snakemake", SERVED)
        path = f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {"PATH": path, "WATCH_LOG": str(self.log), "WATCH_SERVER": stage_server()}

    def copy(self, folder: Path) -> "Project":
        """Another working copy in the same state, including file times."""
        subprocess.run(["cp", "-a", f"{self.folder}/.", str(folder)], check=True)
        return Project(folder)


def rewritten(path: Path, text: str) -> None:
    """Change a file without Snakemake noticing."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def make_project(folder: Path, **settings: str) -> Project:
    """A fresh working copy, run with `settings` as environment variables."""
    folder.mkdir(exist_ok=True)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part)
        else:
            shutil.copy(source, folder / part)
    (folder / "bin").mkdir()
    write_script(folder / "bin" / "python", WATCH)
    write_script(folder / "bin" / "program", PROGRAM)
    return Project(folder, settings)


def write_script(path: Path, script: str) -> None:
    """Write a program that starts this Python, or the client of the server of stages."""
    client = str(ROOT / "tests" / "stage_client.py")
    path.write_text(script.replace("PYTHON", sys.executable).replace("CLIENT", client))
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` fills, once for all workers of pytest-xdist."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    made = folder.with_suffix(".made")
    with FileLock(folder.with_suffix(".lock")):
        if not made.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            made.touch()
    return folder
