"""Runs on a real Slurm during which something happens to every benchmark and capture.

Each takes minutes, mostly waiting. It is told once for both executors, and several tests read it.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Barrier

from tests.slurm import (
    CLUSTER,
    LIMIT_S,
    FirstRuns,
    Job,
    ask,
    ended_jobs,
    gpus,
    gpus_of,
    is_running,
    jobs_of,
    maintenance_soon,
    note_gpus,
    queue,
    restarting,
    slurmd_killed,
    snakemake_in,
    wait_in_run,
    wait_until,
)
from tests.workflow import ROOT, SUITE, Project

BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"
CAPTURE = "results/smoke/capture/tiny-ctx16-fp32.kineto.json.gz"

PREEMPTED_NODE, FAILING_NODE = "lab3", "lab4"
# One benchmark hits its time limit; the other is canceled. The captures request so much memory
# that each runs on a node of its own: one is preempted there, and the other's node fails. All other
# jobs fit on the first two nodes together; on these two some would meet the same faults.
EVENTS = (
    "--set-resources",
    "benchmark:runtime=1 if attempt == 1 and '16' in wildcards.case else 9",
    "capture:mem_mb=300000 if '16' in wildcards.case else 1100000",
)
# A capture of five hours doesn't start before maintenance.
STOPPED = (BENCHMARK, CAPTURE, "--set-resources", "capture:runtime=300")


def options(executor: str) -> list[str]:
    polls = ["--slurm-init-seconds-before-status-checks", "1"] if executor == "slurm" else []
    profile = ["--profile", f"profiles/{executor}", "--jobs", "8", "--cores", "32"]
    quick = ["--latency-wait", "10", "--seconds-between-status-checks", "3"]
    return [*profile, *quick, *polls, "--config", *SUITE, *CLUSTER]


@dataclass(frozen=True)
class Eventful:
    """A run of the suite; each first benchmark and capture was ended by a fault of its own."""

    project: Project
    jobs: list[Job]
    gpus: dict[str, tuple[str, str]]
    orphans: list[int]
    """Processes of a job whose node failed that still ran when Slurm had given the job up."""

    def states(self, true: Callable[[Job], bool]) -> list[str]:
        return sorted(job.state.split(" ")[0] for job in self.jobs if job.measures and true(job))


def eventful(projects: dict[str, Project]) -> dict[str, Eventful]:
    """Run the suite through each executor at once, and let the events happen."""
    held = {name: FirstRuns.of(project) for name, project in projects.items()}
    notes = {name: note_gpus(project) for name, project in projects.items()}
    with ThreadPoolExecutor() as pool, ExitStack() as stack:
        for first in held.values():
            stack.enter_context(first.released_on_error())
        runs = [pool.submit(p.run, *EVENTS, *options(name)) for name, p in projects.items()]
        for run, first in zip(runs, held.values(), strict=True):
            wait_in_run(run, lambda first=first: len(first.started()) == 4, "its four jobs")
        first = [job for project in projects.values() for job in jobs_of(project.folder)]
        ask("scancel", *(job.number for job in first if job.limit_minutes == "9"))
        take_every_gpu(PREEMPTED_NODE)
        with slurmd_killed(FAILING_NODE):
            everyone = projects.values()
            wait_until(lambda: all("NODE_FAIL" in states(p) for p in everyone), "NODE_FAIL")
            orphans = [run for h in held.values() for run in h.started() if is_running(run)]
        for run in runs:
            run.result()
    return {
        name: Eventful(project, ended_jobs(project.folder), gpus(notes[name]), orphans)
        for name, project in projects.items()
    }


def states(project: Project) -> list[str]:
    return [job.state for job in jobs_of(project.folder)]


def take_every_gpu(node: str) -> None:
    """Run a job of a higher-priority partition, for which others are preempted."""
    urgent = ["-p", "urgent", "-w", node, "-t", "1", f"--gres=gpu:{gpus_of(node)}", "--mem=100"]
    ask("sbatch", "--wait", *urgent, "-o", "/dev/null", "--wrap", "sleep 1")


@dataclass(frozen=True)
class Stopped:
    """What was queued or running after each step of a run that was stopped, and run again."""

    project: Project
    printed: dict[str, str]
    queues: dict[str, dict[str, str]]


def stopped(projects: dict[str, Project]) -> dict[str, Stopped]:
    """Interrupt a run with one job running and one queued, kill the next, then run it again."""
    stories = {name: Stopped(project, {}, {}) for name, project in projects.items()}
    held = {name: FirstRuns.of(project) for name, project in projects.items()}
    with ThreadPoolExecutor() as pool:
        with maintenance_soon():
            list(pool.map(lambda name: stop(name, stories[name], held[name]), projects))
        ready = Barrier(len(projects), timeout=LIMIT_S)
        list(pool.map(lambda name: run_again(name, stories[name], held[name], ready), projects))
    return stories


def stop(executor: str, story: Stopped, held: FirstRuns) -> None:
    project = story.project
    stop_with(signal.SIGINT, executor, story, held)
    wait_until(lambda: not queue(project.folder), "the end of the interrupted jobs")
    stop_with(signal.SIGKILL, executor, story, held)
    story.queues["after SIGKILL"] = queue(project.folder)
    story.printed["locked"] = project.run(*STOPPED, *options(executor), check=False)
    ended = subprocess.run(
        [ROOT / "tools" / "cancel_slurm_jobs"], cwd=project.folder, capture_output=True, text=True
    )
    story.printed["cancel"] = ended.stdout
    story.queues["after cancel"] = queue(project.folder)
    project.run("--unlock")


def stop_with(number: signal.Signals, executor: str, story: Stopped, held: FirstRuns) -> None:
    folder = story.project.folder
    held.again()
    with ThreadPoolExecutor() as pool, held.released_on_error():
        run = pool.submit(story.project.run, *STOPPED, *options(executor), check=False)
        wait_in_run(
            run,
            lambda: sorted(queue(folder).values()) == ["PENDING", "RUNNING"] and held.started(),
            "one job running and one queued",
        )
        story.queues[f"before {number.name}"] = queue(folder)
        os.kill(snakemake_in(folder, "--profile"), number)
        story.printed[number.name] = run.result()


def run_again(executor: str, story: Stopped, held: FirstRuns, ready: Barrier) -> None:
    """Run the same command; slurmd dies and comes back while both jobs run.

    Both executors' do by then (`ready`): a step that slurmd is just launching when it dies fails.
    """
    folder = story.project.folder
    held.again()
    with ThreadPoolExecutor() as pool, held.released_on_error():
        run = pool.submit(story.project.run, *STOPPED, *options(executor))
        wait_in_run(run, lambda: len(held.started()) == 2, "both jobs")
        ready.wait()
        story.queues["before slurmd died"] = queue(folder)
        for node in {job.node for job in jobs_of(folder) if job.number in queue(folder)}:
            with restarting, slurmd_killed(node):
                pass
        story.queues["after slurmd came back"] = queue(folder)
        held.release()
        run.result()
