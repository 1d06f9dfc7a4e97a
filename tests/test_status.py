"""The status of a run: what is done, stale, failed or running, and what would run."""

import argparse
import base64
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.workflow import SUITE, Project, make_project, rewritten, served_stage
from workflow_src.cli import status
from workflow_src.cli.of_snakemake import configured, setting, why
from workflow_src.plan import kept
from workflow_src.plan.progress import in_words

BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"
LOG = "results/smoke/logs/benchmark/tiny-ctx16-fp32.json.log"


def told(project: Project, *config: str) -> str:
    given = ("--config", *(config or SUITE))
    code, printed = served_stage(project.folder, "workflow_src.cli.status", *given)
    assert code == 0, printed
    return printed.rstrip()


def words(printed: str, case: str) -> list[str]:
    (row,) = [line for line in printed.splitlines() if line.startswith(case + " ")]
    return [word.strip() for word in row.removeprefix(case).split("  ") if word.strip()]


def mark(folder: Path, output: str) -> Path:
    """The file that Snakemake keeps about an output in one of its folders."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / base64.urlsafe_b64encode(output.encode()).decode()


@pytest.mark.workflow
def test_what_a_changed_setting_makes_stale_is_named_with_the_setting(project: Project) -> None:
    """Of a finished run, in which there is nothing to do."""
    printed = told(project)
    assert words(printed, "tiny-ctx32-fp32") == ["done"] * 4
    assert "answers: 6 of 6 up to date; report.md: done" in printed
    assert printed.endswith("next: nothing to do")
    assert "stale" not in printed and "locked" not in printed
    changed = [*SUITE[:2], "steps=3", SUITE[3]]
    before = project.results()
    printed = told(project, *changed)
    assert words(printed, "tiny-ctx16-fp32") == ["stale", "done", "done", "stale"]
    assert "stale: benchmark of 2: steps was 2, is 3" in printed
    assert "stale: tables of 2: what it is made from is made again" in printed
    assert "runs 24 jobs (2 benchmark, " in printed
    assert project.results() == before


@pytest.mark.workflow
def test_out_of_memory_drift_and_damage_are_told(project: Project) -> None:
    first, second = (project.folder / BENCHMARK.replace("16", n) for n in ("16", "32"))
    result = json.loads(first.read_text())
    result["phases"]["train_step"] = {"status": "oom", "reason": "CPU out of memory"}
    result["environment"]["torch"] = "1.0"
    rewritten(first, json.dumps(result))
    rewritten(second, "damaged")
    printed = told(project, *SUITE, "capture_steps=2")
    assert words(printed, "tiny-ctx16-fp32")[:2] == ["OOM (train_step)", "stale"]
    assert "environment: torch: measured with '1.0', and here is " in printed
    assert "next: measuring is refused, see environment; -R benchmark" in printed
    for record in (project.folder / ".snakemake" / "metadata").iterdir():
        record.write_text("damaged")
    printed = told(project)
    advice = f"run the same command again with -R {BENCHMARK.replace('16', '32')}"
    assert f"damaged: benchmark tiny-ctx32-fp32: {advice}" in printed


@pytest.mark.workflow
def test_in_a_fresh_folder_nothing_is_made_and_what_fails_is_told_with_its_log(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    printed = told(project)
    assert words(printed, "tiny-ctx16-fp32") == ["not yet"] * 4 and "ceilings: 1 not yet" in printed
    assert "environment: nothing is measured yet" in printed
    assert "runs 32 jobs (2 benchmark, 2 capture," in printed
    assert project.results() == set() and not list(tmp_path.glob(".snakemake/locks/*"))
    project.run("results/smoke/ceilings.json", check=False, stage="workflow_src.measure.ceilings")
    printed = told(project)
    failed = "injected failure of workflow_src.measure.ceilings"
    log = "results/smoke/logs/ceilings.json.log"
    assert "ceilings: 1 failed" in printed
    assert f"failed: ceilings of this machine: {failed} ({log})" in printed
    project.run("results/smoke/plan.csv", check=False, stage="workflow_src.plan.write_plan")
    printed = told(project)
    assert "failed: plan results/smoke/plan.csv: injected failure of" in printed
    assert printed.count("failed: ") == 2


@pytest.mark.workflow
def test_a_case_that_allow_missing_leaves_out_keeps_its_state(project: Project) -> None:
    """One that failed has its log; neither it nor what was never measured was deleted."""
    for path in project.folder.glob("results/smoke/*/tiny-ctx16-fp32*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    failing = ["results/smoke/benchmark/tiny-ctx16-fp32.json", "--config", *SUITE]
    stage = "workflow_src.measure.benchmark"
    assert "[0/1 benchmarks, 1 failed]" in project.run(*failing, check=False, stage=stage)
    printed = told(project, *SUITE, "allow_missing=true")
    assert words(printed, "tiny-ctx16-fp32") == ["failed", *["not there"] * 3]
    failed = f"failed: benchmark tiny-ctx16-fp32: injected failure of {stage} ({LOG})"
    assert failed in printed and "deleted" not in printed
    assert words(printed, "tiny-ctx32-fp32") == ["done"] * 4


@pytest.mark.workflow
def test_what_runs_is_told_apart_from_what_was_interrupted(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    mark(tmp_path / kept.STARTED, BENCHMARK).write_text("{}")
    (tmp_path / kept.LOCKS).mkdir(parents=True)
    lock = tmp_path / kept.LOCKS / "0.output.lock"
    lock.write_text(BENCHMARK)
    printed = told(project)
    assert words(printed, "tiny-ctx16-fp32")[0] == "running"
    assert "locked: snakemake runs in this folder, or was killed in it" in printed
    assert lock.exists(), "the command leaves locks alone"
    lock.unlink()
    printed = told(project)
    assert "interrupted: benchmark tiny-ctx16-fp32: snakemake ended before" in printed
    assert "locked" not in printed


@pytest.mark.parametrize("text", ["suite", "=3", "a b=3", "tag= "])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be KEY=VALUE"):
        setting(text)


def test_settings_add_to_the_file_as_snakemake_has_them(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("suite: a\nsizes: {tiny: {heads: 4, layers: 2}}\n")
    given = ["steps=3", "studies=[mlp]", "sizes={tiny: {heads: 2}}", "tag=2026-11-22", "label=x: {"]
    assert configured(given, file) == {
        "suite": "a",
        "sizes": {"tiny": {"heads": "2", "layers": 2}},
        "steps": 3,
        "studies": ["mlp"],
        "tag": "2026-11-22",
        "label": "x: {",
    }


ROW = '{"steps": 2, "said": "it\'s, now: so"}'
CODE, OTHER_CODE = "'0123456789ab'", "'ba9876543210'"


def changed(before: set[str], now: set[str]) -> SimpleNamespace:
    """How Snakemake 9 tells which params changed."""
    return SimpleNamespace(only_old=before, only_new=now)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ({}, ""),
        (
            {"updated_input": {"a", "b"}, "updated_input_run": {"b"}, "incomplete_output": {"c"}},
            "it was interrupted and a changed and what it is made from is made again",
        ),
        ({"input_changed": True}, "it is made from other files"),
        (
            {"params_changed": changed({repr(ROW), CODE}, {repr(ROW.replace("2", "3")), CODE})},
            "steps was 2, is 3 and its code changed",
        ),
        ({"params_changed": changed(set(), {"'--mixed-environments'"})}, "its params changed"),
        ({"params_changed": True}, "its params changed"),
    ],
)
def test_reasons_are_told_in_words(reason: dict[str, Any], said: str) -> None:
    flags = ("forced", "input_changed", "code_changed", "software_stack_changed", "params_changed")
    sets = ("updated_input", "updated_input_run", "incomplete_output")
    usual = dict.fromkeys(flags, False) | dict.fromkeys(sets, frozenset())
    assert why(SimpleNamespace(**usual | reason)) == said


def test_a_failure_counts_until_the_job_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Error in rule a:\n    jobid: 8\n    output: a.json, b.json\n    log: job (check log)\n"
    for name, content, when in (("old.log", text, 100), ("new.log", "fine\n", 200)):
        (tmp_path / name).write_text(content)
        os.utime(tmp_path / name, (when, when))
    monkeypatch.setattr(status, "RUNS", tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("job").write_text("one\ntwo\n\n")
    os.utime("job", (90, 90))
    assert status.failures() == dict.fromkeys(("a.json", "b.json"), "two (job)")
    os.utime("job", (150, 150))
    assert status.failures() == {}


def test_times_are_in_words() -> None:
    said = ["about 1 s", "about 41 s", "about 4 min", "about 1 h", "about 2 h 10 min"]
    assert [in_words(seconds) for seconds in (0.2, 41, 239, 3600, 7800)] == said
