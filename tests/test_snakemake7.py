"""The same Snakefile under Snakemake 7, which has `--cluster sbatch` built in."""

import re
from pathlib import Path

import pytest

from tests.old_snakemake import EVERY_GPU_VISIBLE, Old, make_old
from tests.slurm_stories import BENCHMARK, CAPTURE, OLD, OldStory, Stories
from tests.workflow import Project

pytestmark = [
    pytest.mark.snakemake7,
    pytest.mark.workflow,
]


@pytest.fixture
def old(tmp_path: Path) -> Old:
    return make_old(tmp_path)


@pytest.fixture
def story(stories: Stories) -> OldStory:
    """A run of which a job was canceled and which was interrupted, and one of the suite."""
    told: OldStory = stories[OLD].result()
    return told


def test_a_local_dry_run_plans_the_same_jobs(old: Old) -> None:
    assert re.search(r"^total +32$", old.run("--cores", "1", "-n", "report.md"), re.MULTILINE)


@pytest.mark.usefixtures("old")
def test_results_of_a_later_snakemake_are_not_measured_again(project: Project) -> None:
    """It compares rules' texts in another form, so that for it code is no reason to rerun."""
    printed = Old(project.folder, config=()).run("--cores", "1", "-n", "report.md")
    assert not re.findall(r"^(benchmark|capture|export) +\d+$", printed, flags=re.MULTILINE)


@pytest.mark.slurm
def test_a_canceled_job_is_submitted_again_with_what_the_rule_requests(story: OldStory) -> None:
    canceled, completed = [job for job in story.before if "benchmark" in job.name]
    assert canceled.state.startswith("CANCELLED") and completed.state == "COMPLETED"
    assert canceled.measures and canceled.limit_minutes == "30"
    assert completed.measures and int(completed.limit_minutes) == 60
    assert (story.project.folder / BENCHMARK).exists()


@pytest.mark.slurm
def test_interrupting_the_old_snakemake_cancels_its_jobs(story: OldStory) -> None:
    (job,) = [job for job in story.before if "capture" in job.name]
    assert job.state.startswith("CANCELLED")
    assert all(job.end <= new.start for new in story.jobs), "none beside another"


@pytest.mark.slurm
def test_the_old_command_runs_the_suite_through_slurm(story: OldStory) -> None:
    old = story.project
    assert (old.folder / "report.md").exists() and (old.folder / CAPTURE).exists()
    names = sorted(job.name.split(".")[1] for job in story.jobs)
    left = ["benchmark"] + ["capture"] * 2 + ["ceilings"] + ["tables"] * 2
    assert names == left, "the other benchmark was made before"
    assert {job.state for job in story.jobs} == {"COMPLETED"}
    assert not list(old.folder.glob("slurm*")), "Slurm's output is under .snakemake"
    all_jobs = len(story.before) + len(story.jobs)
    assert len(list(old.folder.glob(".snakemake/slurm-*.out"))) == all_jobs
    assert "Nothing to be done" in old.run(*EVERY_GPU_VISIBLE)
