"""Every command in the documentation is run: here, by another test or by CI, or is listed.

Here means in a finished project of the smoke suite, as it is written but for what SMALL replaces.
What is listed in LACKING needs what neither CI nor a laptop has, or more time than tests may take.
"""

import os
import re
from collections.abc import Iterator

import pytest

from tests.test_docs import documented
from tests.workflow import ROOT, SUITE, Project, run_and_wait

HERE = (
    r"make (report|status|unlock|assemble|rewrite)",
    r'make (status|assemble) CONFIG="suite=assignment"',
    r'make status CONFIG="suite=assignment_2026 cluster=true .*"',
    r"snakemake --cores 1 report\.md --config tag=after-upgrade",
    r"snakemake --cores 1 results/quickstart/timelines/mini-ctx128-fp32\.svg",
    r"python -m workflow_src\.cli\.status --config suite=assignment steps=20",
    r"python -m benchmarks\.remedies --blind benchmarks/remedies_blind/\w+",
    r"python -m workflow_src\.cli\.describe_(tables|settings) --output docs/(tables|settings)\.md",
)
"""Commands that this module runs."""

SMALL = {
    # What make's target runs.
    r"^python -m workflow_src\.cli\.status .*": "make status",
    # What it installs takes a network; CI installs it with `make test`.
    r"^make": "make -o .venv/installed",
    # The same without and with it, as the project's settings are those of the smoke suite.
    r"(assemble|status)$": r'\1 CONFIG="suite=assignment"',
    r"suite=assignment(_2026)?\b": "suite=smoke",
    # One case is measured anew.
    r"report\.md --config tag=after-upgrade": (
        "results/after-upgrade/benchmark/mini-ctx128-fp32.json --config tag=after-upgrade"
    ),
    "results/quickstart": "results/smoke",
    "mini-ctx128-fp32": "tiny-ctx16-fp32",
    r"remedies_blind/\w+": "remedies_blind/device_bound",
}
"""What is replaced in them; the settings of the smoke suite stand in the project's config.yaml."""

GATE = "compare/test_compare.py::test_make_ends_with_error_2_where_runs_cannot_be_compared"
SLURM = "test_slurm.py::test_measurements_run_through_slurm_each_on_a_gpu_of_its_own"
RUN_SUITE = "test_workflow.py::test_one_command_answers_all_questions_and_a_second_run_does_nothing"

BY_TESTS = {
    r"snakemake (-n|--cores 1 report\.md)": RUN_SUITE,
    r"snakemake --cores 1 results/quickstart/answers/case/mini-ctx128-fp32\.md": (
        "test_workflow.py::test_the_answers_for_one_case_need_no_other_case"
    ),
    r"snakemake --cores 1 report\.md -R benchmark capture ceilings study_point": (
        "test_environment.py"
        "::test_what_was_measured_with_another_torch_is_measured_again_in_one_command"
    ),
    r"make compare( A=results/before B=results/after| A=examples/h200 B=examples/h100)?": GATE,
    r"python -m benchmarks\.blind screens FOLDER SCREENS": (
        "test_blind.py::test_a_screen_has_what_is_found_under_the_captures_name_alone"
    ),
    r"python -m benchmarks\.blind score ANSWERS\.csv FOLDER/key\.csv\.gz": (
        "test_blind.py::test_a_score_says_what_was_named_and_how_near_it_is"
    ),
    r"make compare A=results/captures/before-train B=results/captures/after-train": (
        "captures/test_report.py::test_captures_are_reported_in_place_of_a_suite_and_back"
    ),
    r"python -m workflow_src\.compare\.(compare|gate --comparison results/compare/.*)": GATE,
    r"snakemake --cores 1 results/compare/results/before/with/results/after/compare\.md": GATE,
    r"--config suite=memory memory_limit_gib=32 tag=memory-32gib": (
        "test_publish.py::test_a_published_report_can_be_rewritten_from_its_tables"
    ),
    r"--config 'studies=\[name\]'": ("test_adding.py::test_adding_a_question_a_study_and_a_size"),
    r"--config allow_missing=true": (
        "test_workflow.py::test_an_incomplete_report_names_what_is_missing"
    ),
    r"snakemake --report snakemake-report\.html": (
        "test_workflow.py::test_snakemakes_own_report_works_offline"
    ),
    r"python -m workflow_src\.(measure\.capture|captures\.export_case)": RUN_SUITE,
    r"snakemake --cores 1 report\.md --config 'captures=\[.*\]'( '?capture_step_ms=.*)?": (
        "captures/test_report.py::test_captures_are_reported_in_place_of_a_suite_and_back"
    ),
    r"python -m workflow_src\.cli\.capture_timeline --capture .*": (
        "test_capture_timeline.py::test_a_recorded_step_has_the_ledgers_times"
    ),
    r"snakemake --cores 1 report\.md --config workload=examples/my_model\.py:make( 'axes=.*')?": (
        "test_own_model.py::test_a_brought_model_gets_a_report_with_every_answer"
    ),
    r"make check-model FILE=examples/my_model\.py:make": (
        "test_check_model.py::test_each_phase_of_each_case_runs_once"
    ),
    r"python -m workflow_src\.tables\.capture_tables --capture .*": (
        "captures/test_damaged.py::test_the_command_writes_all_tables_or_none"
    ),
    r"python -m workflow_src\.cli\.publish export": (
        "test_publish.py::test_a_cleaned_export_reads_the_same_and_has_no_other_data"
    ),
    r"snakemake --profile profiles/(slurm|cluster-generic) report\.md": SLURM,
    r"--config (cluster=true device=cuda )?profiler=nsys": (
        "test_slurm.py::test_a_cluster_needs_device_and_profiler_named"
    ),
    r"--config (profiler=torch|cpu_threads=8)": (
        "test_slurm.py::test_the_command_line_overrides_the_profiles"
    ),
    r"python -m workflow_src\.cli\.verify --tables results/quickstart/tables": (
        "test_workflow.py::test_the_tables_of_a_run_obey_all_laws"
    ),
    r"tools/cancel_slurm_jobs": (
        "test_slurm.py::test_jobs_of_a_killed_snakemake_stay_until_they_are_canceled"
    ),
    r'snakemake --cluster "sbatch --parsable .*': (
        "test_snakemake7.py::test_a_canceled_job_is_submitted_again_with_what_the_rule_requests"
    ),
    r'snakemake --cluster "sbatch --output.*': (
        "test_snakemake7.py::test_the_old_command_runs_the_suite_through_slurm"
    ),
}
"""Commands that another test runs, and which; settings for a GPU or a cluster in a dry run."""

BY_CI = {
    r"make (check|test)": r"^make \1 \|\| failed \1$",
    r"make \.venv7/installed( PYTHON=python3\.11)?": r"^    make \.venv7/installed$",
    r"\.ci/slurm_lab (up|down)": r"\.ci/slurm_lab \1",
    r"sh \.ci/install_nsys\.sh": r"sh \.ci/install_nsys\.sh",
    r"python -m pytest -m (slurm|nsys|browser|snakemake7)": r"^make test",
    r"python -m pytest (tests/test_plan\.py|-m \"not workflow and not nsys and not browser\")": (
        r"^make test"
    ),
    r"python -m pytest tests/captures/test_folders\.py": r"pytest tests/captures/test_folders\.py$",
}
"""Commands that CI runs, and the line of .ci/run that does, for the groups of the command."""

LACKING = {
    r"--config suite=assignment processes=3$": "a GPU",
    r"\. \.venv/bin/activate": "a .venv made here, for which `make report` takes a network",
    r"EXAMPLES=1000 python -m pytest tests/(test_fuzz|\w+/test_(damaged|any_subset))\.py": (
        "many minutes"
    ),
    r"CAPTURE=traces python train\.py": (
        "a reader's script; examples/training_script/try.sh runs such scripts, in minutes"
    ),
    r"make format": "files that it may change",
    r"\.ci/run": "a fresh clone, and many minutes",
    r"make lock( LOCK=--upgrade)?": "a network",
    r"make \.venv/installed-slurm TORCH=cuda": "a network",
    r"pip install (-r requirements-slurm\.txt|(--no-deps --target FOLDER )?pyarrow)": "a network",
    r"tools/gpu-host/bundle FOLDER": "a network",
    r"\. tools/gpu-host/setup FOLDER": "a folder that was packed with a network, and a GPU",
    r"snakemake --cores 1 report\.md --config suite=assignment": "a GPU, and hours",
    r"snakemake --cores 8 report\.md --resources gpu=4 --config suite=assignment": "four GPUs",
    r"snakemake --profile profiles/slurm report\.md --config suite=assignment": (
        "a Slurm whose nodes have GPUs"
    ),
    r"snakemake --executor cluster-generic .*": (
        "a Slurm that is not the tests'; profiles/cluster-generic has the same options"
    ),
    r"--config 'studies=\[profiler, .*\]'": "many minutes, and a GPU for what they are about",
    r"python -m pytest -m gpu": "a GPU",
    r"python -m workflow_src\.studies\.ranks\.measure --point .*": "four GPUs",
    r"python -m benchmarks\.dry_run": "half a minute",
    r"python -m benchmarks\.mutants --seed .*": "hours",
    r"python -m benchmarks\.(captures|ledger)": "minutes, and a gigabyte of disk",
    r"python -m benchmarks\.captures --(paths|ticks) .*": "minutes",
    r"python -m benchmarks\.replay --step step FILES": "captures of a reader's own",
    r"python -m benchmarks\.remedies examples/.*": "minutes",
    r"--config suite=assignment 'studies=\[profiler, warmup\]'": "a GPU, and minutes",
    r"python -m benchmarks\.planted\.score .*": "recordings of planted faults, from a GPU",
}
"""Commands that nothing runs, and what that takes."""

HOMES = (*HERE, *BY_TESTS, *BY_CI, *LACKING)


@pytest.mark.parametrize("command", documented())
def test_a_documented_command_is_run_or_what_it_lacks_is_named(command: str) -> None:
    homes = [pattern for pattern in HOMES if re.fullmatch(pattern, command)]
    assert len(homes) == 1, "run it in this module, or name what does or what that takes, once"


def test_each_pattern_is_that_of_a_documented_command() -> None:
    commands = documented()
    unused = [p for p in HOMES if not any(re.fullmatch(p, command) for command in commands)]
    assert unused == []


@pytest.mark.parametrize("node", sorted(set(BY_TESTS.values())))
def test_a_test_that_runs_a_documented_command_is_there(node: str) -> None:
    file, name = node.split("::")
    text = (ROOT / "tests" / file).read_text()
    assert re.search(rf"^def {name}\(", text, re.MULTILINE)


def test_ci_runs_what_is_said_to_be_run_there() -> None:
    said = (ROOT / ".ci" / "run").read_text()
    for command in documented():
        for pattern, line in BY_CI.items():
            if found := re.fullmatch(pattern, command):
                assert re.search(found.expand(line).replace(r"\.", "."), said, re.M), command


def small(command: str) -> str:
    """The command, made small enough to be run here."""
    for old, new in SMALL.items():
        command = re.sub(old, new, command)
    return command


def run_here() -> Iterator[str]:
    """Each of these commands, once, as it is run."""
    for command in documented():
        if any(re.fullmatch(pattern, command) for pattern in HERE):
            yield small(command)


def of_the_smoke_suite(project: Project) -> None:
    """Put the settings of the finished run into config.yaml, and drop its report."""
    settings = "\n".join(setting.replace("=", ": ") for setting in SUITE)
    project.edit("config.yaml", "suite: quickstart\n", f"{settings}\n")
    (project.folder / "Makefile").write_text((ROOT / "Makefile").read_text())
    (project.folder / "report.md").unlink()


@pytest.mark.workflow
@pytest.mark.parametrize("command", sorted(set(run_here())), ids=str)
def test_a_documented_command_ends_well(command: str, project: Project) -> None:
    of_the_smoke_suite(project)
    folder = ROOT if "benchmarks." in command else project.folder
    environment = os.environ | project.serve_snakemake()
    status, said = run_and_wait(["bash", "-c", command], folder, environment)
    assert status == 0, said
    made = re.findall(r"\S+\.(?:md|svg|csv)", command)
    made += ["report.md"] if re.search(r"\b(report|assemble|rewrite)\b", command) else []
    assert [file for file in made if not (project.folder / file).is_file()] == [], said
