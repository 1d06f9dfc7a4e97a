"""Results are the same whatever surrounds a run: locale, optimization, other runs, a full disk."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.test_faults import mounted, needs_root
from tests.workflow import ROOT, Project, make_project, served_stage, snakemake

CAPTURE = ROOT / "tests" / "data" / "captures" / "graph.json.gz"
MODULE = "workflow_src.cli.read_capture"
GIVEN = ("--capture", str(CAPTURE), "--fold", r"\.\d+")
PLAN = "results/{tag}/plan.csv"
USUAL = ("warmup_steps=1", "steps=2", "capture_steps=1", "cpu_threads=1", "suite=smoke")


def test_tables_are_the_same_in_a_locale_with_other_letters_and_decimal_commas(
    tmp_path: Path,
) -> None:
    """Files are UTF-8 there, too, and an I in lower case is an i."""
    name, letters = "tr_TR", "ISO-8859-9"
    make = ["localedef", "-i", name, "-f", letters, str(tmp_path / name)]
    if not shutil.which("localedef") or subprocess.run(make, capture_output=True).returncode:
        pytest.skip(f"the locale {name} can't be made on this machine")
    settings = {"LOCPATH": str(tmp_path), "LC_ALL": name, "PYTHONUTF8": "0"}
    asked = "import locale; print(locale.setlocale(locale.LC_ALL, ''), locale.getencoding())"
    said = subprocess.run(
        [sys.executable, "-c", asked], env=os.environ | settings, capture_output=True, text=True
    )
    assert said.stdout.split() == [name, letters]
    usual = tmp_path / "usual"
    assert served_stage(ROOT, MODULE, *GIVEN, "--output", str(usual))[0] == 0
    command = [sys.executable, "-m", MODULE, *GIVEN, "--output", str(tmp_path / "t/usual")]
    subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=True)
    for path in usual.iterdir():
        assert (tmp_path / "t/usual" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.workflow
def test_a_job_that_fails_is_tried_again_as_often_as_asked(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    plan, stage = PLAN.format(tag="smoke"), "workflow_src.plan.write_plan"
    project.run(plan, "--retries", "2", check=False, stage=stage)
    assert project.stages() == [stage] * 3 and project.results() == set()
    project.run(plan)
    assert project.results() == {plan}


@pytest.mark.workflow
def test_two_runs_at_once_go_on_with_two_tags_and_one_waits_for_nothing_with_one(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    project.edit(
        "workflow_src/plan/write_plan.py",
        "plan = expand(arguments.settings)",
        "plan = expand(arguments.settings)\n    __import__('time').sleep(5)",
    )

    def run(tag: str) -> str:
        given = (PLAN.format(tag=tag), "--config", *USUAL, f"tag={tag}")
        try:
            return Project(project.folder).run(*given)
        except AssertionError as failed:
            return str(failed)

    with ThreadPoolExecutor() as pool:
        apart = list(pool.map(run, ("a", "b")))
        assert not any("cannot be locked" in printed for printed in apart)
        together = list(pool.map(run, ("c", "c")))
    assert sum("Directory cannot be locked" in printed for printed in together) == 1
    assert project.results() == {PLAN.format(tag=tag) for tag in "abc"}


@pytest.mark.workflow
def test_use_as_a_module_of_another_workflow_ends_in_one_sentence(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    other = tmp_path / "other"
    other.mkdir()
    (other / "Snakefile").write_text(
        f'module ours:\n    snakefile: "{project.folder}/Snakefile"\n    config: config\n'
        "use rule * from ours as ours_*\n"
    )
    _, printed = snakemake(["-n"], other, os.environ)
    assert printed.splitlines()[-1] == (
        "this workflow can't be a module of another Snakefile, as its paths and settings are those "
        f"of its own folder: run snakemake in {project.folder}, and take what it makes, "
        f"{project.folder}/results/..., as inputs"
    )


@needs_root
@pytest.mark.workflow
def test_a_disk_that_stays_full_leaves_what_was_made_and_then_goes_on(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    plan = PLAN.format(tag="smoke")
    log = project.folder / "results/smoke/logs/plan.csv.log"
    with mounted(project.folder / "results", "16k") as results:
        (results / "rest").write_bytes(b"0" * 2**14)
        for _ in range(2):
            project.run(plan, check=False)
            assert not (project.folder / plan).exists()
            assert [path.name for path in results.rglob("*.partial")] == []
        (results / "rest").unlink()
        project.run(plan)
        assert (project.folder / plan).exists() and log.exists()


@needs_root
@pytest.mark.workflow
def test_a_full_folder_for_temporary_files_ends_the_workflow_in_one_sentence(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path / "project")
    with mounted(tmp_path / "full", "64k") as full:
        environment = os.environ | {"TMPDIR": str(full)}
        _, printed = snakemake(["--cores=1", PLAN.format(tag="smoke")], project.folder, environment)
    assert printed.splitlines()[-1] == (
        f"{full}: No space left on device; free some space, or set TMPDIR to a folder with more"
    )
    assert project.results() == set()
