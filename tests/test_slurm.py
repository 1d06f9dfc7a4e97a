"""The workflow on a real Slurm: `.ci/slurm_lab up` starts one."""

import itertools
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.slurm import ask, gpus_of
from tests.slurm_stories import (
    BENCHMARK,
    CAPTURE,
    EXECUTORS,
    MEASURED,
    TABULATED,
    TARGETS,
    Stories,
    Story,
)
from tests.workflow import ROOT
from workflow_src.dag.start import refuse_login_node

MARKS = [pytest.mark.slurm, pytest.mark.workflow]
TOLD = {name: pytest.param(name, marks=MARKS) for name in EXECUTORS}
by_executor = pytest.mark.parametrize("executor", TOLD.values())
by_plugin = pytest.mark.parametrize("executor", [TOLD["slurm"]])


@pytest.fixture
def story(stories: Stories, executor: str) -> Story:
    """A run that was interrupted, and run again; its measurements then met a fault each."""
    told: Story = stories[executor].result()
    return told


@by_executor
def test_measurements_run_through_slurm_each_on_a_gpu_of_its_own(
    story: Story, executor: str
) -> None:
    assert {*TARGETS[executor]} <= story.project.results()
    completed = [job for job in story.of_the_last_run if job.state == "COMPLETED"]
    measuring = [job for job in completed if job.measures]
    assert len(measuring) == MEASURED[executor]
    assert all("gres/gpu=1" in job.got for job in measuring)
    assert len(completed) == len(measuring) + TABULATED[executor], "tables, without a GPU"
    started = [job for job in story.of_the_last_run if job.measures]
    at_once = [pair for pair in itertools.combinations(started, 2) if pair[0].overlaps(pair[1])]
    assert any(one.node != other.node for one, other in at_once), "two nodes measured at once"
    seen = story.seen_by
    assert all(seen(job)[0] == job.node for job in started)
    assert all(int(seen(job)[1]) < gpus_of(job.node) for job in started), "one GPU is visible"
    assert all(seen(one) != seen(other) for one, other in at_once), "never shared"
    for file in story.project.folder.glob("results/smoke/benchmark/*.json"):
        environment = json.loads(file.read_text())["environment"]
        assert environment["node"] and environment["device_name"] == "cpu"


@by_plugin
def test_a_job_past_its_time_limit_is_retried_with_more(story: Story) -> None:
    assert story.states("limit") == ["TIMEOUT"]
    ended = [job for job in story.of_the_last_run if job.limit_minutes == "9"]
    assert [job.state for job in ended].count("COMPLETED") == 2, "it, and the canceled one"


@by_executor
def test_a_canceled_job_is_noticed_and_submitted_again(story: Story) -> None:
    """sacct calls it "CANCELLED by 0", which the executor plugin doesn't take for CANCELLED."""
    assert story.states("canceled") == ["CANCELLED"]
    ended = [job for job in story.of_the_last_run if job.limit_minutes == "9"]
    past_its_limit = "limit" in story.faults
    assert len(ended) == 2 + past_its_limit, "it, again, and the job past its time limit"


@by_executor
def test_a_preempted_job_is_requeued_and_completes(story: Story) -> None:
    """A job in a higher-priority partition takes every GPU of the node."""
    assert sorted(story.states("preempted")) == ["COMPLETED", "PREEMPTED"]


@by_executor
def test_interrupting_snakemake_cancels_its_jobs(story: Story, executor: str) -> None:
    """The next run makes their results, and needs no unlock: it would have ended at once."""
    assert sorted(story.interrupted.values()) == ["PENDING", "RUNNING"]
    ended = [job for job in story.jobs if job.number in story.interrupted]
    assert len(ended) == 2 and all(job.state.startswith("CANCELLED") for job in ended)
    assert {BENCHMARK, CAPTURE} <= story.project.results()
    after = story.of_the_last_run
    assert all(job.end <= later.start for job in ended for later in after), "none beside another"
    if executor == "cluster-generic":
        named = [job.name.startswith("snakejob.") for job in ended]
        assert all(named), "by which tools/cancel_slurm_jobs tells what a killed one leaves"


@pytest.mark.parametrize(
    ("state", "queued", "word"),
    [
        ("COMPLETED", "", "success"),
        ("CANCELLED by 0", "", "failed"),
        ("PENDING", "", "running"),
        ("PREEMPTED", "7", "running"),
        ("PREEMPTED", "", "failed"),
        ("NODE_FAIL", "7", "running"),
    ],
)
def test_the_status_script_reports_slurm_states_to_snakemake(
    tmp_path: Path, state: str, queued: str, word: str
) -> None:
    """A job that Slurm won't requeue counts as failed; one that it will requeue as running."""
    for command, says in (("sacct", state), ("squeue", queued)):
        (tmp_path / command).write_text(f"#!/bin/sh\necho '{says}' | sed '/^$/d'\n")
        (tmp_path / command).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    status = [str(ROOT / "profiles" / "cluster-generic" / "status"), "Submitted batch job 7"]
    assert ask(*status, environment={"PATH": path}).strip() == word


def test_a_device_that_was_looked_for_on_the_login_node_is_refused() -> None:
    for config, device, local in (
        ({}, "cpu", True),
        ({"device": "cpu"}, "cpu", False),
        ({}, "cuda", False),
    ):
        refuse_login_node(SimpleNamespace(local_exec=local), config, device)
    with pytest.raises(SystemExit, match="device: 'auto' is the cpu on this machine"):
        refuse_login_node(SimpleNamespace(local_exec=False), {}, "cpu")
