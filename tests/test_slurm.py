"""The workflow on a real Slurm: `.ci/slurm_lab up` brings one up with two nodes of two GPUs."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.slurm import CLUSTER, ask, gpus, jobs_of, note_gpus, require_slurm, wait_until
from tests.workflow import SUITE, Project, make_project
from workflow_src.cases import Case
from workflow_src.devices import hold
from workflow_src.requests import memory_mib, minutes

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
    assert len(jobs) == 6, "and the tables of each case in one job without a GPU; the rest is local"
    at_once = [pair for pair in itertools.combinations(measuring, 2) if pair[0].overlaps(pair[1])]
    assert any(one.node != other.node for one, other in at_once), "two nodes measured at once"
    seen = gpus(notes)
    assert all(seen[job.number][0] == job.node for job in measuring)
    assert all(seen[job.number][1] in ("0", "1") for job in measuring), "one GPU is visible"
    assert all(seen[one.number] != seen[other.number] for one, other in at_once), "never shared"
    for file in project.folder.glob("results/smoke/benchmark/*.json"):
        environment = json.loads(file.read_text())["environment"]
        assert environment["node"] and environment["device_name"] == "cpu"


@pytest.mark.slurm
@pytest.mark.workflow
@pytest.mark.usefixtures("own_locks")
def test_a_job_past_its_time_limit_comes_back_with_more(tmp_path: Path) -> None:
    """The device is held until Slurm has ended the first job of each executor."""
    require_slurm()
    more = "benchmark:runtime=1 if attempt == 1 else 9"
    folders = {name: tmp_path / name for name in EXECUTORS}
    for folder in folders.values():
        folder.mkdir()
    projects = {name: make_project(folder) for name, folder in folders.items()}

    def run(executor: str) -> str:
        return projects[executor].run(BENCHMARK, "--set-resources", more, *options(executor))

    def timed_out(project: Project) -> bool:
        return "TIMEOUT" in {job.state for job in jobs_of(project.folder)}

    with ThreadPoolExecutor() as pool:
        with hold("cpu", wait_s=120):
            running = [pool.submit(run, executor) for executor in EXECUTORS]
            wait_until(lambda: all(map(timed_out, projects.values())), "TIMEOUT")
            assert not any((project.folder / BENCHMARK).exists() for project in projects.values())
        for run_ in running:
            run_.result()
    for project in projects.values():
        first, second = jobs_of(project.folder)
        assert (first.limit_minutes, second.limit_minutes) == ("1", "9")
        assert (first.state, second.state) == ("TIMEOUT", "COMPLETED")
        json.loads((project.folder / BENCHMARK).read_text())


@pytest.mark.slurm
@pytest.mark.workflow
@pytest.mark.usefixtures("own_locks")
def test_a_preempted_job_is_put_back_and_ends_well(project: Project) -> None:
    """A job of a partition of higher rank takes every GPU while the first one waits."""

    def states() -> list[str]:
        return [job.state for job in jobs_of(project.folder)]

    with ThreadPoolExecutor() as pool:
        with hold("cpu", wait_s=120):
            running = pool.submit(project.run, BENCHMARK, *options("slurm"))
            wait_until(lambda: states() == ["RUNNING"], "the job")
            urgent = ["-p", "urgent", "-N", "2", "--gres=gpu:2", "--mem=100", "-o", "/dev/null"]
            ask("sbatch", "--wait", *urgent, "--wrap", "sleep 1")
            assert not (project.folder / BENCHMARK).exists()
            assert "PREEMPTED" in states()
        running.result()
    assert sorted(states()) == ["COMPLETED", "PREEMPTED"]
    assert len({job.number for job in jobs_of(project.folder)}) == 1, "Slurm's own second run of it"
    json.loads((project.folder / BENCHMARK).read_text())


@pytest.mark.workflow
def test_a_cluster_needs_device_and_profiler_named(tmp_path: Path) -> None:
    """A login node without a GPU must not decide what the compute nodes measure on."""
    project = make_project(tmp_path)
    said = project.run("-n", "--config", *SUITE, "cluster=true", "device=cuda", check=False)
    assert "config: profiler: 'auto' can't be told on this machine where cluster is true" in said
    planned = project.run("-n", "--config", *SUITE, "cluster=true", "device=cuda", "profiler=nsys")
    assert "Benchmark tiny-ctx16-fp32" in planned


@pytest.mark.workflow
def test_the_profiles_say_it_and_the_command_line_goes_before_them(tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    project = make_project(tmp_path)
    named = ["-n", "--profile", "profiles/slurm", "-p"]
    assert "c.nsys-rep" in project.run(*named).replace("tiny-ctx16-fp32.", "c.")
    chosen = project.run(*named, "--config", *SUITE, "profiler=torch", "device=cpu")
    assert "kineto.json.gz" in chosen and "nsys-rep" not in chosen


def case(device: str, context: int) -> Case:
    sizes = dict(d_model=256, d_ff=1024, layers=4, heads=8, vocabulary=10000, batch=4)
    kind = dict(precision="fp32", attention="naive", optimizer="adamw", device=device)
    return Case("c", "mini", context=context, **sizes, **kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(("context", "peak_mib"), [(64, 641), (128, 802), (256, 1003)])
def test_the_memory_asked_for_holds_what_training_was_seen_to_take(
    context: int, peak_mib: int
) -> None:
    """Peak resident memory of the benchmark of `mini` on two cores, torch 2.13."""
    assert peak_mib < memory_mib(case("cpu", context))


def test_time_grows_with_the_model_and_memory_only_where_the_model_lives() -> None:
    # 15 steps; FLOPs of a forward pass 14.95e9 and of a backward pass twice the matrix products.
    assert minutes(case("cpu", 256), steps=15) == 10 + 6
    assert minutes(case("cpu", 256), steps=30) > minutes(case("cpu", 256), steps=15)
    assert minutes(case("cuda", 256), steps=15) == 11
    assert memory_mib(case("cuda", 256)) == memory_mib(case("cuda", 8192)) == 8192
    assert memory_mib(case("cpu", 8192)) > memory_mib(case("cpu", 256))
