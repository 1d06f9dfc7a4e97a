"""The same Snakefile under Snakemake 7, which has `--cluster sbatch` built in."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.slurm import CLUSTER, jobs_of, require_slurm
from tests.workflow import ROOT, SUITE, Project, make_project

pytestmark = [pytest.mark.snakemake7, pytest.mark.workflow]

ENVIRONMENT = Path(os.environ.get("SNAKEMAKE7_ENVIRONMENT", ROOT / ".venv7"))
ASK = (
    "sbatch --gres=gpu:{resources.gpu} --mem={resources.mem_mb} --time={resources.runtime}"
    " --cpus-per-task={threads}"
)


@dataclass(frozen=True)
class Old:
    """A working copy, run with the old Snakemake."""

    folder: Path

    def run(self, *arguments: str) -> str:
        path = f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
        command = ["snakemake", *arguments, "--config", *SUITE, *CLUSTER]
        environment = os.environ | {"PATH": path}
        ended = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr


@pytest.fixture
def old(tmp_path: Path) -> Old:
    if not (ENVIRONMENT / "bin" / "snakemake").exists():
        reason = f"no Snakemake 7 in {ENVIRONMENT}; install it with make .venv7/installed"
        (pytest.fail if os.environ.get("REQUIRE_SNAKEMAKE7") else pytest.skip)(reason)
    return Old(make_project(tmp_path).folder)


def test_a_local_dry_run_plans_the_same_jobs(old: Old) -> None:
    assert "19" in old.run("--cores", "1", "-n", "report.md")


def test_results_of_a_later_snakemake_are_not_measured_again(old: Old) -> None:
    """It compares rules' texts in another form, so that for it code is no reason to rerun."""
    Project(old.folder).run("--config", *SUITE, *CLUSTER)
    printed = old.run("--cores", "1", "-n", "report.md")
    assert not re.findall(r"^(benchmark|capture|export) +\d+$", printed, flags=re.MULTILINE)


@pytest.mark.slurm
def test_the_old_command_runs_the_suite_through_slurm(old: Old) -> None:
    require_slurm()
    old.run("--cluster", "sbatch", "--jobs", "4", "report.md")
    assert (old.folder / "report.md").exists()
    jobs = jobs_of(old.folder)
    names = sorted(job.name.split(".")[1] for job in jobs)
    assert names == ["benchmark"] * 2 + ["capture"] * 2 + ["tables"] * 2
    assert {job.state for job in jobs} == {"COMPLETED"}
    assert "Nothing to be done" in old.run("--cluster", "sbatch", "--jobs", "4", "report.md")


@pytest.mark.slurm
def test_resources_reach_sbatch_by_name(old: Old) -> None:
    require_slurm()
    target = "results/smoke/benchmark/tiny-ctx16-fp32.json"
    old.run("--cluster", ASK, "--jobs", "4", target)
    (job,) = jobs_of(old.folder)
    assert job.measures and job.limit_minutes == "11"
