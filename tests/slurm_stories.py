"""Runs on a real Slurm to which something happens: they are stopped, and meet Slurm's faults.

Each takes minutes, mostly waiting, and several tests read it. All are told at once, each in a
partition of its own, so that what is done to a node, or fills it, happens to one story only.
"""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.old_snakemake import THROUGH_SLURM, Old, make_old
from tests.slurm import (
    CLUSTER,
    FirstRuns,
    Job,
    ask,
    drained,
    end_now,
    ended_jobs,
    gpus,
    gpus_of,
    nodes_of,
    note_gpus,
    queue,
    require_slurm,
    snakemake_in,
    steps_of,
    wait_in_run,
    wait_until,
)
from tests.workflow import SUITE, Project, make_project
from workflow_src.common import device_locks

EXECUTORS = {"slurm": "main", "cluster-generic": "second"}
"""Snakemake's ways to Slurm, and the partition in which each one's story is told."""
OLD = "third"
"""The partition of Snakemake 7's story."""

TARGETS = {
    "slurm": tuple(
        f"results/smoke/{name}"
        for name in ("tables/ceilings.csv", "answers/a.md", "figures/opening.svg")
    ),
    "cluster-generic": (
        "results/smoke/tables/tiny-ctx16-fp32/kernels.csv",
        "results/smoke/benchmark/tiny-ctx32-fp32.json",
    ),
}
"""What the last run of each makes: one an answer and a figure, which are no jobs."""

MEASURED = {"slurm": 5, "cluster-generic": 3}
"""Measurements of the last run: of two cases and the ceilings; one case less its capture."""
TABULATED = {"slurm": 2, "cluster-generic": 1}
"""Its other jobs: the tables of each case."""

FAULTS = {
    "slurm": ("canceled", "limit", "preempted"),
    "cluster-generic": ("canceled", "preempted"),
}
"""What happens to the measurements of each: what its plugin, or the script of its profile, tells
apart. Both kinds that the script knows are here; which states it takes for which is tested alone.
"""

BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"
CAPTURE = "results/smoke/capture/tiny-ctx16-fp32.kineto.json.gz"

# The captures request so much memory that each runs on a node of its own: one is preempted there.
# All other jobs fit on the partition's first node together. The limits
# tell the two benchmarks from other jobs: one is canceled, and the other's limit is shortened.
LARGEST = "mem_mb=300000"
EVENTS = (
    "--set-resources",
    "benchmark:runtime=8 if attempt == 1 and '16' in wildcards.case else 9",
    f"capture:{LARGEST} if '16' in wildcards.case else 100000",
)
STOPPED = (BENCHMARK, CAPTURE, "--set-resources", f"capture:{LARGEST}")


def options(executor: str) -> list[str]:
    polls = ["--slurm-init-seconds-before-status-checks", "1"] if executor == "slurm" else []
    profile = ["--profile", f"profiles/{executor}", "--jobs", "8", "--cores", "32"]
    quick = ["--latency-wait", "10", "--seconds-between-status-checks", "2"]
    return [*profile, *quick, *polls, "--config", *SUITE, *CLUSTER]


@dataclass(frozen=True)
class Story:
    """A run that was interrupted; then one whose measurements met a fault each."""

    project: Project
    nodes: list[str]
    interrupted: dict[str, str] = field(default_factory=dict)
    """The number and the state of each job that was interrupted."""
    faults: dict[str, str] = field(default_factory=dict)
    """The number of the job that met each fault."""
    jobs: list[Job] = field(default_factory=list)
    gpus: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    @property
    def of_the_last_run(self) -> list[Job]:
        return [job for job in self.jobs if job.number not in self.interrupted]

    def seen_by(self, job: Job) -> tuple[str, str]:
        """The node and the index of the GPU that a measuring job saw."""
        # By when they ended: accounting may lose the start of one that is preempted soon after.
        runs = sorted(each.end for each in self.jobs if each.number == job.number)
        return self.gpus[job.number][runs.index(job.end)]

    def states(self, fault: str) -> list[str]:
        runs = [job for job in self.jobs if job.number == self.faults[fault]]
        return [job.state.split(" ")[0] for job in runs]


def tell(executor: str, folder: Path) -> Story:
    """Interrupt a run, and let the next complete in spite of all faults."""
    project = make_project(folder, **in_partition(EXECUTORS[executor], folder))
    story = Story(project, nodes_of(EXECUTORS[executor]))
    held = FirstRuns.of(project)
    notes = note_gpus(project)
    interrupt(executor, story, held)
    held.again()
    with ThreadPoolExecutor() as pool, held.released_on_error():
        run = pool.submit(project.run, *TARGETS[executor], *EVENTS, *options(executor))
        measured = MEASURED[executor]
        wait_in_run(run, lambda: held.started() == measured, "its measurements")
        provoke(executor, story)
        held.release()
        run.result()
    story.jobs.extend(ended_jobs(project.folder))
    story.gpus.update(gpus(notes))
    return story


def in_partition(partition: str, folder: Path) -> dict[str, str]:
    """Settings with which jobs are submitted to a partition, and have device locks of their own."""
    locks = folder / "locks"
    locks.mkdir()
    return {"SBATCH_PARTITION": partition, device_locks.VARIABLE: str(locks)}


def interrupt(executor: str, story: Story, held: FirstRuns) -> None:
    """Interrupt a run with one job running and one queued."""
    folder = story.project.folder
    with (
        drained(story.nodes[2]),
        ThreadPoolExecutor() as pool,
        held.released_on_error(),
    ):
        run = pool.submit(story.project.run, *STOPPED, *options(executor), check=False)
        wait_in_run(
            run,
            lambda: sorted(queue(folder).values()) == ["PENDING", "RUNNING"] and held.started(),
            "one job running and one queued",
        )
        story.interrupted.update(queue(folder))
        os.kill(snakemake_in(folder, "--profile"), signal.SIGINT)
        run.result()
        wait_until(lambda: not queue(folder), "the end of the interrupted jobs")


def provoke(executor: str, story: Story) -> None:
    """Let its faults happen to the measurements, each to one of its own."""
    folder, third = story.project.folder, story.nodes[2]
    by_limit = {limit: number for number, limit in queue(folder, what="%l").items()}
    (preempted,) = ask("squeue", "-h", "-w", third, "-t", "running", "-o", "%i").split()
    numbers = {"canceled": by_limit["9:00"], "limit": by_limit["8:00"], "preempted": preempted}
    story.faults.update((fault, numbers[fault]) for fault in FAULTS[executor])
    ask("scancel", story.faults["canceled"])
    if "limit" in story.faults:
        # Slurm then looks after its limit, which it does twice a minute, and finds it reached.
        end_now(story.faults["limit"])
    take_every_gpu(third)
    start_again(story.faults["preempted"])


def take_every_gpu(node: str) -> None:
    """Run a job of a higher-priority partition, for which others are preempted."""
    urgent = ["-p", "urgent", "-w", node, "-t", "1", f"--gres=gpu:{gpus_of(node)}", "--mem=100"]
    ask("sbatch", "--wait", *urgent, "-o", "/dev/null", "--wrap", "sleep 1")


def start_again(number: str) -> None:
    """Let a requeued job start as soon as nothing of it runs, not when its credential expires."""
    state = ["squeue", "-h", "-j", number, "-o", "%T"]
    wait_until(lambda: ask(*state).strip() == "PENDING" and not steps_of(number), "a requeued job")
    ask("scontrol", "update", f"JobId={number}", "StartTime=now")


def tell_old(folder: Path) -> tuple[Old, list[Job]]:
    old = make_old(folder, **in_partition(OLD, folder))
    old.run(*THROUGH_SLURM)
    return old, ended_jobs(old.folder)


Stories = dict[str, Future[Any]]


@pytest.fixture(scope="session")
def stories(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    """The stories of the tests that were selected, told at once."""
    require_slurm()
    selected = {item.path.name for item in request.session.items}
    with ThreadPoolExecutor() as pool:
        told: Stories = {}
        if "test_snakemake7.py" in selected:
            told[OLD] = pool.submit(tell_old, tmp_path_factory.mktemp("old"))
        if "test_slurm.py" in selected:
            for name in EXECUTORS:
                told[name] = pool.submit(tell, name, tmp_path_factory.mktemp(name))
        yield told
