"""The status of a run: what is done, stale or unfinished, and what would run."""

import argparse
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.workflow import SUITE, Project, make_project, rewritten, served_stage
from workflow_src.cli.of_snakemake import configured, setting, why

BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"


def told(project: Project, *config: str) -> str:
    given = ("--config", *(config or SUITE))
    code, printed = served_stage(project.folder, "workflow_src.cli.status", *given)
    assert code == 0, printed
    return printed.rstrip()


def counted(printed: str) -> dict[str, dict[str, int]]:
    """By stage, how many of its outputs are in which state."""
    head, *rows = (re.split(" {2,}", line) for line in printed.split("\n\n")[1].splitlines())
    named = {stage: dict(zip(head[1:], map(int, numbers), strict=True)) for stage, *numbers in rows}
    return {stage: {word: n for word, n in each.items() if n} for stage, each in named.items()}


@pytest.mark.workflow
def test_what_a_changed_setting_makes_stale_is_named_with_the_setting(project: Project) -> None:
    """Of a finished run, in which there is nothing to do."""
    printed = told(project)
    stages = ("benchmark", "capture", "export", "tables")
    assert counted(printed) == {"ceilings": {"done": 1}} | {key: {"done": 2} for key in stages}
    assert "answers: 6 of 6 up to date; report.md: done" in printed
    assert printed.endswith("next: nothing to do")
    assert "stale" not in printed
    changed = [*SUITE[:2], "steps=3", SUITE[3]]
    before = project.results()
    printed = told(project, *changed)
    assert counted(printed) == {
        **{key: {"stale": 2} for key in ("benchmark", "tables")},
        **{key: {"done": 2} for key in ("capture", "export")},
        "ceilings": {"done": 1},
    }
    assert "stale: benchmark of 2: steps was 2, is 3" in printed
    assert "stale: tables of 2: what it is made from is made again" in printed
    assert " runs 24: 2 benchmark, " in printed
    assert project.results() == before


@pytest.mark.workflow
def test_where_measuring_would_be_refused_it_is_told_why(project: Project) -> None:
    measured = project.folder / BENCHMARK
    result = json.loads(measured.read_text())
    result["environment"]["torch"] = "1.0"
    rewritten(measured, json.dumps(result))
    printed = told(project, *SUITE, "capture_steps=2")
    assert "next: measuring is refused: torch: measured with '1.0', and here is " in printed
    assert "; -R benchmark capture ceilings study_point measures all again" in printed


@pytest.mark.workflow
def test_in_a_fresh_folder_nothing_is_made_and_what_fails_is_told_with_its_log(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    printed = told(project)
    assert counted(printed)["benchmark"] == {"not yet": 2}
    assert counted(printed)["ceilings"] == {"not yet": 1}
    assert " runs 32: 2 benchmark, 2 capture, " in printed
    assert project.results() == set() and not list(tmp_path.glob(".snakemake/locks/*"))
    failing = ["results/smoke/ceilings.json"]
    said = project.run(*failing, check=False, stage="workflow_src.measure.ceilings")
    assert "[0/1 measurements of ceilings, 1 failed]" in said
    printed = told(project)
    failed = "injected failure of workflow_src.measure.ceilings"
    log = "results/smoke/logs/ceilings.json.log"
    assert counted(printed)["ceilings"] == {"unfinished": 1}
    assert f"unfinished: ceilings of this machine: {failed} ({log})" in printed
    project.run("results/smoke/plan.csv", check=False, stage="workflow_src.plan.write_plan")
    printed = told(project)
    assert "unfinished: plan results/smoke/plan.csv: injected failure of" in printed
    assert printed.count("unfinished: ") == 2


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
