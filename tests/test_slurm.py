"""The workflow on a real Slurm: `.ci/slurm_lab up` starts one, two nodes with two GPUs each."""

import itertools
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.slurm import CLUSTER, ask, gpus, jobs_of, note_gpus, require_slurm, wait_until
from tests.workflow import ROOT, SUITE, Project, make_project
from workflow_src.common.case import Case
from workflow_src.common.devices import hold
from workflow_src.plan.resources import memory_mib, minutes

EXECUTORS = ("slurm", "cluster-generic")
BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"


def options(executor: str) -> list[str]:
    quick = {"slurm": ["--slurm-init-seconds-before-status-checks", "5"]}
    profile = ["--profile", f"profiles/{executor}", "--jobs", "8", "--cores", "32"]
    return [
        *profile,
        "--latency-wait",
        "10",
        *quick.get(executor, []),
        "--config",
        *SUITE,
        *CLUSTER,
    ]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    require_slurm()
    return make_project(tmp_path)


@pytest.mark.slurm
@pytest.mark.workflow
@pytest.mark.parametrize("executor", EXECUTORS)
def test_measurements_run_through_slurm_each_on_a_gpu_of_its_own(
    project: Project, executor: str
) -> None:
    notes = note_gpus(project)
    project.run(*options(executor))
    assert "report.md" in project.results()
    jobs = jobs_of(project.folder)
    assert {job.state for job in jobs} == {"COMPLETED"}
    measuring = [job for job in jobs if job.measures]
    assert len(measuring) == 4, "two cases, each benchmarked and captured"
    assert all("gres/gpu=1" in job.got for job in measuring)
    assert len(jobs) == 6, "one more job per case for its tables, without a GPU"
    at_once = [pair for pair in itertools.combinations(measuring, 2) if pair[0].overlaps(pair[1])]
    assert any(one.node != other.node for one, other in at_once), "two nodes measured at once"
    seen = gpus(notes)
    assert all(seen[job.number][0] == job.node for job in measuring)
    assert all(seen[job.number][1] in ("0", "1") for job in measuring), "one GPU is visible"
    assert all(seen[one.number] != seen[other.number] for one, other in at_once), "never shared"
    for file in project.folder.glob("results/smoke/benchmark/*.json"):
        environment = json.loads(file.read_text())["environment"]
        assert environment["node"] and environment["device_name"] == "cpu"


@pytest.fixture
def projects(tmp_path: Path, own_locks: None) -> dict[str, Project]:
    """A project per executor; both share one device lock, used only by this test."""
    require_slurm()
    folders = {name: tmp_path / name for name in EXECUTORS}
    for folder in folders.values():
        folder.mkdir()
    return {name: make_project(folder) for name, folder in folders.items()}


def states(project: Project) -> list[str]:
    return sorted(job.state for job in jobs_of(project.folder))


def benchmark_while_held(
    projects: dict[str, Project], *extra: str, meanwhile: Callable[[], None]
) -> None:
    """Submit a benchmark through each executor; it waits for the device until `meanwhile` ends."""

    def run(executor: str) -> str:
        return projects[executor].run(BENCHMARK, *extra, *options(executor))

    with ThreadPoolExecutor() as pool:
        with hold("cpu", wait_s=120):
            running = [pool.submit(run, executor) for executor in projects]
            everyone = projects.values()
            wait_until(lambda: all(states(p) == ["RUNNING"] for p in everyone), "the jobs")
            meanwhile()
            assert not any((project.folder / BENCHMARK).exists() for project in everyone)
        for ended in running:
            ended.result()
    for project in projects.values():
        json.loads((project.folder / BENCHMARK).read_text())


@pytest.mark.slurm
@pytest.mark.workflow
def test_a_job_past_its_time_limit_is_retried_with_more(projects: dict[str, Project]) -> None:
    def all_timed_out() -> None:
        wait_until(lambda: all("TIMEOUT" in states(p) for p in projects.values()), "TIMEOUT")

    more = ["--set-resources", "benchmark:runtime=1 if attempt == 1 else 9"]
    benchmark_while_held(projects, *more, meanwhile=all_timed_out)
    for project in projects.values():
        first, second = jobs_of(project.folder)
        assert (first.limit_minutes, second.limit_minutes) == ("1", "9")
        assert (first.state, second.state) == ("TIMEOUT", "COMPLETED")


@pytest.mark.slurm
@pytest.mark.workflow
def test_a_canceled_job_is_noticed_and_submitted_again(projects: dict[str, Project]) -> None:
    """sacct calls it "CANCELLED by 0", which the executor plugin doesn't take for CANCELLED."""

    def cancel() -> None:
        for project in projects.values():
            for job in jobs_of(project.folder):
                ask("scancel", job.number)
        everyone = projects.values()
        wait_until(lambda: all("CANCELLED" in states(p)[0] for p in everyone), "CANCELLED")

    benchmark_while_held(projects, meanwhile=cancel)
    for project in projects.values():
        first, second = jobs_of(project.folder)
        assert first.state.startswith("CANCELLED") and second.state == "COMPLETED"


def assert_put_back(projects: dict[str, Project], state: str) -> None:
    """Each job ended in `state` and then completed when Slurm requeued it under the same id."""
    for project in projects.values():
        assert states(project) == sorted(["COMPLETED", state])
        assert len({job.number for job in jobs_of(project.folder)}) == 1


@pytest.mark.slurm
@pytest.mark.workflow
def test_a_preempted_job_is_requeued_and_completes(projects: dict[str, Project]) -> None:
    """A job in a higher-priority partition takes every GPU while the first jobs wait."""

    def take_every_gpu() -> None:
        urgent = ["-p", "urgent", "-N", "2", "--gres=gpu:2", "--mem=100", "-o", "/dev/null"]
        ask("sbatch", "--wait", *urgent, "--wrap", "sleep 1")
        assert all("PREEMPTED" in states(project) for project in projects.values())

    benchmark_while_held(projects, meanwhile=take_every_gpu)
    assert_put_back(projects, "PREEMPTED")


@pytest.mark.slurm
@pytest.mark.workflow
def test_a_job_whose_node_fails_is_requeued_and_completes(projects: dict[str, Project]) -> None:
    """A node set to DOWN comes back at its next registration."""

    def lose_the_nodes() -> None:
        ask("scontrol", "update", "NodeName=lab[1-2]", "State=DOWN", "Reason=test")
        wait_until(lambda: all("NODE_FAIL" in states(p) for p in projects.values()), "NODE_FAIL")

    benchmark_while_held(projects, meanwhile=lose_the_nodes)
    assert_put_back(projects, "NODE_FAIL")


@pytest.mark.parametrize(
    ("state", "queued", "word"),
    [
        ("COMPLETED", "", "success"),
        ("TIMEOUT", "", "failed"),
        ("CANCELLED by 0", "", "failed"),
        ("PENDING", "", "running"),
        ("", "", "running"),
        ("PREEMPTED", "7", "running"),
        ("PREEMPTED", "", "failed"),
        ("NODE_FAIL", "7", "running"),
        ("NODE_FAIL", "", "failed"),
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


@pytest.mark.workflow
def test_a_cluster_needs_device_and_profiler_named(tmp_path: Path) -> None:
    """A login node without a GPU must not choose the device for the compute nodes."""
    project = make_project(tmp_path)
    said = project.run("-n", "--config", *SUITE, "cluster=true", "device=cuda", check=False)
    assert (
        "config: profiler: 'auto' can't be resolved on this machine where cluster is true" in said
    )
    planned = project.run("-n", "--config", *SUITE, "cluster=true", "device=cuda", "profiler=nsys")
    assert "Benchmark tiny-ctx16-fp32" in planned


@pytest.mark.workflow
def test_the_command_line_overrides_the_profiles(tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    project = make_project(tmp_path)
    named = ["-n", "--profile", "profiles/slurm", "-p"]
    assert "c.nsys-rep" in project.run(*named).replace("tiny-ctx16-fp32.", "c.")
    on_cpu = ["profiler=torch", "device=cpu", "cpu_threads=1"]
    chosen = project.run(*named, "--config", *SUITE, *on_cpu)
    assert "kineto.json.gz" in chosen and "nsys-rep" not in chosen


def case(device: str, context: int) -> Case:
    sizes = dict(d_model=256, d_ff=1024, layers=4, heads=8, vocabulary=10000, batch=4)
    kind = dict(precision="fp32", attention="naive", optimizer="adamw", device=device)
    return Case("c", "mini", context=context, **sizes, **kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(("context", "peak_mib"), [(64, 641), (128, 802), (256, 1003)])
def test_requested_memory_exceeds_the_observed_peak(context: int, peak_mib: int) -> None:
    """Peak resident memory of the benchmark of `mini` on two cores, torch 2.13."""
    assert peak_mib < memory_mib(case("cpu", context))


def test_requested_time_grows_with_the_model_and_memory_only_on_a_cpu() -> None:
    # 15 steps; FLOPs of a forward pass 14.95e9 and of a backward pass twice the matrix products.
    assert minutes(case("cpu", 256), steps=15) == 10 + 6
    assert minutes(case("cpu", 256), steps=30) > minutes(case("cpu", 256), steps=15)
    assert minutes(case("cuda", 256), steps=15) == 11
    assert memory_mib(case("cuda", 256)) == memory_mib(case("cuda", 8192)) == 8192
    assert memory_mib(case("cpu", 8192)) > memory_mib(case("cpu", 256))
