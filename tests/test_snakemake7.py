"""The same Snakefile under Snakemake 7, which has `--cluster sbatch` built in."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.slurm import (
    CLUSTER,
    FirstRuns,
    ask,
    ended_jobs,
    own_locks,
    queue,
    require_slurm,
    snakemake_in,
    wait_in_run,
)
from tests.workflow import ROOT, SUITE, Project, make_project

pytestmark = [
    pytest.mark.snakemake7,
    pytest.mark.workflow,
]

ENVIRONMENT = Path(os.environ.get("SNAKEMAKE7_ENVIRONMENT", ROOT / ".venv7"))
BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"


def documented(version: str, target: str = "report.md") -> list[str]:
    """The arguments of the command that docs/slurm.md names for `version`, with another target."""
    lines = (ROOT / "docs" / "slurm.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    (command,) = [row[1].strip("`") for row in rows if row[0] == version]
    return [target if word == "report.md" else word for word in shlex.split(command)[1:]]


EVERY_GPU_VISIBLE = documented("7.32.4, where jobs see GPUs without requesting them")


@dataclass(frozen=True)
class Old(Project):
    """A working copy, run with the old Snakemake."""

    config: tuple[str, ...] = CLUSTER

    def run(self, *arguments: str, check: bool = True, **watch: str) -> str:
        path = f"{self.folder / 'bin'}:{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
        command = ["snakemake", *arguments, "--config", *SUITE, *self.config]
        environment = os.environ | {"PATH": path, "WATCH_LOG": str(self.log)}
        ended = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        printed = ended.stdout + ended.stderr
        assert check == (ended.returncode == 0), printed
        return printed


def make_old(folder: Path) -> Old:
    if not (ENVIRONMENT / "bin" / "snakemake").exists():
        reason = f"no Snakemake 7 in {ENVIRONMENT}; install it with make .venv7/installed"
        (pytest.fail if os.environ.get("REQUIRE_SNAKEMAKE7") else pytest.skip)(reason)
    project = Old(make_project(folder).folder)
    project.edit("bin/python", sys.executable, str(ENVIRONMENT / "bin" / "python"))
    return project


@pytest.fixture
def old(tmp_path: Path) -> Old:
    return make_old(tmp_path)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[Old]]:
    """The suite, run through Slurm while other tests run."""
    require_slurm()
    old = make_old(tmp_path_factory.mktemp("suite"))

    def run() -> Old:
        old.run(*EVERY_GPU_VISIBLE)
        return old

    with own_locks(tmp_path_factory.mktemp("locks")), ThreadPoolExecutor() as pool:
        yield pool.submit(run)


def test_a_local_dry_run_plans_the_same_jobs(old: Old) -> None:
    assert re.search(r"^total +27$", old.run("--cores", "1", "-n", "report.md"), re.MULTILINE)


@pytest.mark.usefixtures("old")
def test_results_of_a_later_snakemake_are_not_measured_again(project: Project) -> None:
    """It compares rules' texts in another form, so that for it code is no reason to rerun."""
    printed = Old(project.folder, config=()).run("--cores", "1", "-n", "report.md")
    assert not re.findall(r"^(benchmark|capture|export) +\d+$", printed, flags=re.MULTILINE)


@pytest.mark.slurm
@pytest.mark.usefixtures("suite")
def test_a_canceled_job_is_submitted_again_with_what_the_rule_requests(old: Old) -> None:
    held = FirstRuns.of(old)
    with ThreadPoolExecutor() as pool, held.released_on_error():
        run = pool.submit(old.run, *documented("7.32.4", BENCHMARK))
        wait_in_run(run, held.started, "the benchmark")
        ask("scancel", *queue(old.folder))
        run.result()
    canceled, completed = ended_jobs(old.folder)
    assert canceled.state.startswith("CANCELLED") and completed.state == "COMPLETED"
    assert canceled.measures and canceled.limit_minutes == "11"


@pytest.mark.slurm
@pytest.mark.usefixtures("suite")
def test_interrupting_the_old_snakemake_cancels_its_jobs(old: Old) -> None:
    held = FirstRuns.of(old)
    with ThreadPoolExecutor() as pool, held.released_on_error():
        run = pool.submit(old.run, *documented("7.32.4", BENCHMARK), check=False)
        wait_in_run(run, held.started, "the benchmark")
        os.kill(snakemake_in(old.folder, "--cluster"), signal.SIGINT)
        run.result()
    (job,) = ended_jobs(old.folder)
    assert job.state.startswith("CANCELLED") and not (old.folder / BENCHMARK).exists()


@pytest.mark.slurm
def test_the_old_command_runs_the_suite_through_slurm(suite: Future[Old]) -> None:
    old = suite.result()
    assert (old.folder / "report.md").exists()
    jobs = ended_jobs(old.folder)
    names = sorted(job.name.split(".")[1] for job in jobs)
    assert names == ["benchmark"] * 2 + ["capture"] * 2 + ["ceilings"] + ["tables"] * 2
    assert {job.state for job in jobs} == {"COMPLETED"}
    assert not list(old.folder.glob("slurm*")), "Slurm's output is under .snakemake"
    assert len(list(old.folder.glob(".snakemake/slurm-*.out"))) == len(jobs)
    assert "Nothing to be done" in old.run(*EVERY_GPU_VISIBLE)
