"""Query Slurm (which jobs ran, what they requested, on which GPU), and provoke its faults."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import leftovers
from tests.workflow import Project
from workflow_src.common import device_locks

CLUSTER = ("cluster=true", "device=cpu", "profiler=torch", "cpu_threads=1")
LIMIT_S = 420.0
"""How long something is waited for."""
FIELDS = "JobID,JobName,State,NodeList,ReqTRES,AllocTRES,TimelimitRaw,Start,End,WorkDir"


def ask(*command: str, environment: dict[str, str] | None = None) -> str:
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return ended.stdout


def require_slurm() -> None:
    """Skip the test if no Slurm answers; fail it instead if REQUIRE_SLURM is set."""
    answers = shutil.which("sinfo") and subprocess.run(["sinfo", "-h"], capture_output=True)
    if not answers or answers.returncode:
        reason = "no Slurm answers here; start one with .ci/slurm_lab up"
        (pytest.fail if os.environ.get("REQUIRE_SLURM") else pytest.skip)(reason)


def gpus_of(node: str) -> int:
    """The number of GPUs that a node has."""
    (found,) = re.findall(r"CfgTRES=\S*gres/gpu=(\d+)", ask("scontrol", "show", "node", node))
    return int(found)


@dataclass(frozen=True)
class Job:
    """One job as recorded in the accounting database."""

    number: str
    name: str
    state: str
    node: str
    asked: str
    got: str
    limit_minutes: str
    start: str
    end: str
    folder: str

    @property
    def measures(self) -> bool:
        return "gres/gpu=1" in self.asked

    @property
    def short(self) -> bool:
        return self.limit_minutes == "1"

    def overlaps(self, other: "Job") -> bool:
        return self.start < other.end and other.start < self.end


def jobs_of(folder: Path) -> list[Job]:
    """The jobs submitted from `folder`, oldest first; a requeued job once per run."""
    listed = ask("sacct", "-X", "-D", "-n", "-P", "-S", "now-2hours", "-o", FIELDS).splitlines()
    jobs = [Job(*line.split("|")) for line in listed]
    return [job for job in jobs if job.folder == str(folder)]


def queue(folder: Path, *options: str) -> dict[str, str]:
    """Number and state of the jobs from `folder` that are queued, running or being ended."""
    listed = ask("squeue", "-h", "-o", "%i|%T|%Z", *options).splitlines()
    jobs = [line.split("|") for line in listed]
    return {number: state for number, state, submitted in jobs if submitted == str(folder)}


def ended_jobs(folder: Path) -> list[Job]:
    """As `jobs_of`, when the accounting database knows that all of them have ended."""

    def are_known() -> bool:
        jobs = jobs_of(folder)
        numbers = {job.number for job in jobs if job.end != "Unknown"}
        return numbers == set(queue(folder, "-t", "all")) and all(j.end != "Unknown" for j in jobs)

    wait_until(are_known, "the end of all jobs")
    return jobs_of(folder)


def said_by(job: Job) -> str:
    """What Snakemake printed in a job, by both executors' names of its log; "" if it is gone."""
    logs = Path(job.folder, ".snakemake")
    files = [*logs.glob(f"slurm_logs/**/{job.number}.log"), *logs.glob(f"slurm-{job.number}.out")]
    return "\n".join(f"{file}:\n{file.read_text()}" for file in files)


def before_each_stage(project: Project, shell: str) -> None:
    """Make each stage of `project` first run some shell code."""
    python = project.folder / "bin" / "python"
    python.write_text(python.read_text().replace("#!/bin/sh", f"#!/bin/sh\n{shell}"))


def note_gpus(project: Project) -> Path:
    """Make each stage of `project` log its node and visible GPU; return the log's path."""
    notes = project.folder / "gpus.log"
    before_each_stage(
        project, f'echo "$SLURM_JOB_ID $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES" >> {notes}'
    )
    return notes


@dataclass(frozen=True)
class FirstRuns:
    """Holds a case's first benchmark and first capture until they are ended, or released."""

    folder: Path

    @classmethod
    def of(cls, project: Project) -> "FirstRuns":
        held = cls(project.folder / "held")
        held.folder.mkdir()
        wait = f'{{ echo $$ > "$run/id"; until [ -e {held.folder}/released ]; do sleep 1; done; }}'
        run = f'run={held.folder}/$(echo "$*" | md5sum | cut -d " " -f 1)'
        held_stages = "*.measure.benchmark|*.measure.capture"
        before_each_stage(
            project, f'case $2 in {held_stages}) {run}; mkdir "$run" 2>/dev/null && {wait};; esac'
        )
        return held

    def started(self) -> list[int]:
        """Process ids of the runs that were held."""
        return [int(file.read_text()) for file in self.folder.glob("*/id") if file.stat().st_size]

    def again(self) -> None:
        """Take the next run of each for its first."""
        for folder in self.folder.iterdir():
            shutil.rmtree(folder)

    def release(self) -> None:
        (self.folder / "released").touch()

    @contextmanager
    def released_on_error(self) -> Iterator[None]:
        """Release them if the test fails, which otherwise waits for snakemake for ever."""
        try:
            yield
        except BaseException:
            self.release()
            raise


def gpus(notes: Path) -> dict[str, tuple[str, str]]:
    """Node and GPU index that each job saw, by job number."""
    lines = [line.split(" ") for line in notes.read_text().splitlines()]
    return {number: (node, index) for number, node, index in lines if number}


def wait_in_run(run: Future[str], true: Callable[[], object], what: str) -> None:
    """Wait until something is true while snakemake runs; raise its error if it ends before."""
    wait_until(lambda: true() or run.done(), what)
    if run.done():
        raise AssertionError(f"snakemake ended before {what}: {run.result()}")


def wait_until(true: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come within {limit_s:g} s"
        time.sleep(0.5)


def snakemake_in(folder: Path, option: str) -> int:
    """The id of the snakemake that was started in `folder` with `option`; not one of its jobs."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode().split("\0")
            if (process / "cwd").resolve() == folder and option in words:
                return int(process.name)
    raise AssertionError(f"no snakemake {option} runs in {folder}")


def is_running(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


@contextmanager
def slurmd_killed(node: str) -> Iterator[None]:
    """Kill the slurmd of `node`, and start it again at the end. Its jobs' processes go on."""
    (file,) = re.findall(r"SlurmdPidFile\s*=\s*(\S+)", ask("scontrol", "show", "config"))
    os.kill(int(Path(file.replace("%n", node)).read_text()), signal.SIGKILL)
    try:
        yield
    finally:
        # Without the tests' mark, because it outlives them.
        bare = {name: value for name, value in os.environ.items() if name != leftovers.VARIABLE}
        subprocess.run(["slurmd", "-N", node], check=True, env=bare, stdout=subprocess.DEVNULL)
        wait_until(lambda: slurmd_answers(node), f"slurmd of {node}")


def slurmd_answers(node: str) -> bool:
    return ask("sinfo", "-h", "-p", "main", "-n", node, "-o", "%t").strip() in (
        "idle",
        "mix",
        "alloc",
    )


restarting = threading.Lock()
"""Held while slurmd is down for a moment, by stories that run at once."""


@contextmanager
def own_locks(folder: Path) -> Iterator[None]:
    """Give the jobs submitted meanwhile device locks in `folder`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(device_locks.VARIABLE, str(folder))
        yield


@contextmanager
def maintenance_soon() -> Iterator[None]:
    """Reserve all nodes from two hours on: jobs that may take longer stay queued."""
    when = ["StartTime=now+2hours", "Duration=60", "Nodes=ALL", "Flags=MAINT,IGNORE_JOBS"]
    name = ask("scontrol", "create", "reservation", "Users=root", *when).split()[-1]
    try:
        yield
    finally:
        ask("scontrol", "delete", f"ReservationName={name}")
