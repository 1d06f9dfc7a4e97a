"""Query Slurm (which jobs ran, what they requested, on which GPU), and provoke its faults."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflow import Project

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


def nodes_of(partition: str) -> list[str]:
    """The nodes of a partition, those that are taken first first."""
    return sorted(ask("sinfo", "-h", "-N", "-p", partition, "-o", "%N").split())


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

    def overlaps(self, other: "Job") -> bool:
        return self.start < other.end and other.start < self.end


def jobs_of(folder: Path) -> list[Job]:
    """The jobs submitted from `folder`, oldest first; a requeued job once per run."""
    listed = ask("sacct", "-X", "-D", "-n", "-P", "-S", "now-2hours", "-o", FIELDS).splitlines()
    jobs = [Job(*line.split("|")) for line in listed]
    return [job for job in jobs if job.folder == str(folder)]


def queue(folder: Path, *options: str, what: str = "%T") -> dict[str, str]:
    """Number and state of the jobs from `folder` that are queued, running or being ended.

    `what` is another format of squeue's, of what to tell instead of the state.
    """
    listed = ask("squeue", "-h", "-o", f"%i|{what}|%Z", *options).splitlines()
    jobs = [line.split("|") for line in listed]
    return {number: told for number, told, submitted in jobs if submitted == str(folder)}


def end_now(number: str) -> None:
    """Let a job reach its limit now, which Slurm refuses if it reads this in the next second."""
    update = ["scontrol", "update", f"JobId={number}", "EndTime=now"]
    wait_until(lambda: not subprocess.run(update, capture_output=True).returncode, "a job's limit")


def steps_of(number: str) -> list[int]:
    """The processes with which Slurm runs the steps of a job; a node runs no job twice at once."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cmdline").read_bytes().startswith(f"slurmstepd: [{number}.".encode()):
                found.append(int(process.name))
    return found


def ended_jobs(folder: Path) -> list[Job]:
    """As `jobs_of`, when the accounting database knows that all of them have ended."""

    def are_known() -> bool:
        jobs = jobs_of(folder)
        numbers = {job.number for job in jobs if job.end != "Unknown"}
        return numbers == set(queue(folder, "-t", "all")) and all(j.end != "Unknown" for j in jobs)

    wait_until(are_known, "the end of all jobs")
    return jobs_of(folder)


def note_gpus(project: Project) -> Path:
    """Make each stage of `project` log its node and visible GPU; return the log's path."""
    notes = project.folder / "gpus.log"
    noting = f'echo "$SLURM_JOB_ID $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES" >> {notes}'
    project.edit("bin/python", "#!/bin/sh", f"#!/bin/sh\n{noting}")
    return notes


@dataclass(frozen=True)
class FirstRuns:
    """Holds the first run of each measurement until it is ended, or released."""

    folder: Path

    @classmethod
    def of(cls, project: Project) -> "FirstRuns":
        held = cls(project.folder / "held")
        held.folder.mkdir()
        run = f'run={held.folder}/$(echo "$*" | md5sum | cut -d " " -f 1)'
        wait = f"until [ -e {held.folder}/released ]; do sleep 1; done"
        stages = "*.measure.benchmark|*.measure.capture|*.measure.ceilings"
        first = f'mkdir "$run" 2>/dev/null && {{ touch "$run/held"; {wait}; }}'
        holding = f"case $2 in {stages}) {run}; {first};; esac"
        project.edit("bin/python", "#!/bin/sh", f"#!/bin/sh\n{holding}")
        return held

    def started(self) -> int:
        """How many runs were held."""
        return len(list(self.folder.glob("*/held")))

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


def gpus(notes: Path) -> dict[str, list[tuple[str, str]]]:
    """Node and GPU index that each stage of a job saw, by the job's number."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in notes.read_text().splitlines():
        number, node, index = line.split(" ")
        found.setdefault(number, []).append((node, index))
    return found


def wait_in_run(run: Future[str], true: Callable[[], object], what: str) -> None:
    """Wait until something is true while snakemake runs; raise its error if it ends before."""
    wait_until(lambda: true() or run.done(), what)
    if run.done():
        raise AssertionError(f"snakemake ended before {what}: {run.result()}")


def wait_until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come within {LIMIT_S:g} s"
        time.sleep(0.2)


def snakemake_in(folder: Path, option: str) -> int:
    """The id of the snakemake that was started in `folder` with `option`; not one of its jobs."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode().split("\0")
            if (process / "cwd").resolve() == folder and option in words:
                return int(process.name)
    raise AssertionError(f"no snakemake {option} runs in {folder}")


@contextmanager
def drained(node: str) -> Iterator[None]:
    """Let no job start on `node`; those that only it has the memory for stay queued."""
    update = ("scontrol", "update", f"NodeName={node}")
    ask(*update, "State=DRAIN", "Reason=test")
    try:
        yield
    finally:
        ask(*update, "State=RESUME")
