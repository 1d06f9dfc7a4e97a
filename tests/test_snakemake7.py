"""The same Snakefile under Snakemake 7, which has `--cluster sbatch` built in."""

import re
from pathlib import Path

import pytest

from tests.old_snakemake import THROUGH_SLURM, Old, make_old
from tests.slurm_stories import CAPTURE, OLD, Stories
from tests.workflow import Project

pytestmark = [
    pytest.mark.snakemake7,
    pytest.mark.workflow,
]


@pytest.fixture
def old(tmp_path: Path) -> Old:
    return make_old(tmp_path)


def test_a_local_dry_run_plans_the_same_jobs(old: Old) -> None:
    assert re.search(r"^total +32$", old.run("--cores", "1", "-n", "report.md"), re.MULTILINE)


@pytest.mark.usefixtures("old")
def test_results_of_a_later_snakemake_are_not_measured_again(project: Project) -> None:
    """It compares rules' texts in another form, so that for it code is no reason to rerun."""
    printed = Old(project.folder, config=()).run("--cores", "1", "-n", "report.md")
    assert not re.findall(r"^(benchmark|capture|export) +\d+$", printed, flags=re.MULTILINE)


@pytest.mark.slurm
def test_the_old_command_runs_the_suite_through_slurm(stories: Stories) -> None:
    """Each job with what its rule requests."""
    old, jobs = stories[OLD].result()
    assert (old.folder / "report.md").exists() and (old.folder / CAPTURE).exists()
    names = sorted(job.name.split(".")[1] for job in jobs)
    assert names == ["benchmark"] * 2 + ["capture"] * 2 + ["ceilings"] + ["tables"] * 2
    assert {job.state for job in jobs} == {"COMPLETED"}
    for job in jobs:
        assert job.measures == (".tables." not in job.name)
    assert not list(old.folder.glob("slurm*")), "Slurm's output is under .snakemake"
    assert len(list(old.folder.glob(".snakemake/slurm-*.out"))) == len(jobs)
    assert "Nothing to be done" in old.run(*THROUGH_SLURM)
