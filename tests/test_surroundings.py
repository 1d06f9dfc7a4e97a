"""Results are the same whatever surrounds a run: locale, optimization, other runs, a full disk."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.test_faults import mounted, needs_root
from tests.workflow import ROOT, Project, make_project, served_stage

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


@needs_root
@pytest.mark.workflow
def test_a_disk_that_stays_full_leaves_what_was_made_and_then_goes_on(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    plan = PLAN.format(tag="smoke")
    log = project.folder / "results/smoke/logs/plan.csv.log"
    with mounted(project.folder / "results", "16k") as results:
        (results / "rest").write_bytes(b"0" * 2**14)
        project.run(plan, check=False)
        assert not (project.folder / plan).exists()
        assert [path.name for path in results.rglob("*.partial")] == []
        (results / "rest").unlink()
        project.run(plan)
        assert (project.folder / plan).exists() and log.exists()
