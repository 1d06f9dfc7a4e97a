"""Query Slurm: which jobs ran, what they requested, and on which GPU."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflow import Project

CLUSTER = ("cluster=true", "device=cpu", "profiler=torch", "cpu_threads=1")
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


def note_gpus(project: Project) -> Path:
    """Make each stage of `project` log its node and visible GPU; return the log's path."""
    notes, python = project.folder / "gpus.log", project.folder / "bin" / "python"
    seen = f'echo "$SLURM_JOB_ID $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES" >> {notes}'
    python.write_text(python.read_text().replace("#!/bin/sh", f"#!/bin/sh\n{seen}"))
    return notes


def gpus(notes: Path) -> dict[str, tuple[str, str]]:
    """Node and GPU index that each job saw, by job number."""
    lines = [line.split(" ") for line in notes.read_text().splitlines()]
    return {number: (node, index) for number, node, index in lines if number}


def wait_until(true: Callable[[], object], what: str, limit_s: float = 180) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come within {limit_s:g} s"
        time.sleep(0.5)
