"""The workflow itself: staleness, failed and killed jobs, and rejected input."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.joined import check
from tests.workflow import KILLED, ROOT, SUITE, Project, make_project, snakemake
from workflow_src.tables.laws import read_tables

pytestmark = pytest.mark.workflow

MEASURING = ("benchmark", "capture")


def test_one_command_answers_all_questions_and_a_second_run_does_nothing(
    project: Project,
) -> None:
    report = (project.folder / "report.md").read_text()
    assert all(f"({letter})" in report for letter in "abcde")
    assert report.startswith("# Where a training step's time goes on a CPU")
    tables = read_tables(project.folder / "results/smoke/tables")
    assert len(tables["captures"]) == 2 and check(tables).to_dict("records") == []
    for name in ("benchmark/tiny-ctx16-fp32.json", "answers/a", "answers/f"):
        assert (project.folder / f"results/smoke/logs/{name}.log").exists()
    assert "Nothing to be done" in project.run()


def test_the_answers_for_one_case_need_no_other_case(project: Project) -> None:
    target = "results/smoke/answers/case/tiny-ctx16-fp32.md"
    assert project.stale(target) == {"case_card": 1}
    project.run(target)
    card = (project.folder / target).read_text()
    assert re.search(r"^\| unprofiled, ms \| \d", card, flags=re.MULTILINE)
    whole = (project.folder / "results/smoke/appendix.md").read_text().splitlines()
    assert [line for line in card.splitlines() if line[:1] == "|" and line not in whole] == []


def test_settings_make_stale_what_they_are_part_of_and_nothing_else(project: Project) -> None:
    """A capture's, cores, threads, an unused size's, a further context's and then a used size's."""
    captured = project.stale("--config", *SUITE[:3], "capture_steps=2", SUITE[4])
    assert captured["capture"] == 2 and "benchmark" not in captured
    assert project.stale("--cores", "1") == {}
    threads = project.stale("--config", *SUITE[:-1], "cpu_threads=2")
    assert (threads["benchmark"], threads["capture"]) == (2, 2)
    project.edit("config.yaml", "xl: {d_model: 1600, d_ff: 6400", "xl: {d_model: 1600, d_ff: 640")
    project.edit("config.yaml", "contexts: [16, 32]", "contexts: [16, 32, 48]")
    stale = project.stale()
    assert {stale[rule] for rule in (*MEASURING, "export", "case_tables")} == {1}, "of the third"
    assert stale["join"] == 1
    project.edit("config.yaml", "tiny: {d_model: 128, d_ff: 512", "tiny: {d_model: 128, d_ff: 256")
    stale = project.stale()
    assert (stale["benchmark"], stale["capture"]) == (3, 3)


def test_the_advice_for_a_damaged_export_makes_it_again(project: Project) -> None:
    export = project.folder / "results/smoke/export/tiny-ctx16-fp32/trace.json.gz"
    export.write_bytes(b"damaged")
    assert project.stale() == {}, "deleting it would not do either"
    table = "results/smoke/tables/tiny-ctx16-fp32/kernels.csv"
    said = re.search(r"trace.json.gz: .*, or (.*)", project.run("-f", table, check=False))
    assert said is not None
    advice = "run the same command again with -R results/smoke/export/tiny-ctx16-fp32"
    assert said[1] == advice
    project.run("-f", table, *advice.split()[-2:])
    assert export.read_bytes().startswith(b"\x1f\x8b")


def test_a_failed_case_leaves_the_others_and_is_rerun_alone(project: Project) -> None:
    """Of a finished run: what was made from it before is there, and hides that it is missing."""
    joined, lost = (
        "results/smoke/tables/timings.csv",
        "results/smoke/benchmark/tiny-ctx16-fp32.json",
    )
    project.log.unlink()
    wrong = {"stage": "workflow_src.measure.benchmark", "case": '"tiny-ctx16-fp32"'}
    printed = project.run(joined, "-R", "benchmark", check=False, **wrong)
    assert "injected failure of workflow_src.measure.benchmark" in printed
    assert project.stages().count("workflow_src.tables.case_tables") == 1, "of the other case"
    assert lost not in project.results()
    assert {"benchmark": 1, "join": 1, "report": 1}.items() <= project.stale().items()
    project.log.unlink()
    project.run(joined)
    assert "workflow_src.measure.capture" not in project.stages()
    assert project.stages().count("workflow_src.measure.benchmark") == 1
    assert lost in project.results() and not {"benchmark", "join"} & project.stale().keys()


def test_slurm_jobs_that_snakemake_leaves_when_it_ends_are_canceled(project: Project) -> None:
    """Its list of jobs is empty while it asks for their states, and so Ctrl-C cancels none."""
    queued = project.folder / "queued"
    queued.write_text(f"7|snakejob.benchmark.0.sh||{project.folder.resolve()}\n8|other||/\n")
    for name, does in {"squeue": f"cat {queued}", "scancel": f'echo "$@" > {queued}'}.items():
        command = project.folder / "bin" / name
        command.write_text(f"#!/bin/sh\n{does}\n")
        command.chmod(0o755)
    forced = "results/smoke/benchmark/tiny-ctx16-fp32.json", "--forcerun", "benchmark"
    printed = project.run(*forced, check=False, stage="workflow_src.measure.benchmark")
    assert "Canceling Slurm jobs: 7" in printed
    assert queued.read_text() == "7\n"


def test_an_incomplete_report_names_what_is_missing(project: Project) -> None:
    project.edit("config.yaml", "contexts: [16, 32]", "contexts: [16, 32, 48]")
    cases = "results/smoke/answers/cases.md"
    project.run(cases, "--config", *SUITE, "allow_missing=true")
    assert "tiny-ctx48-fp32" in (project.folder / cases).read_text()


def test_two_machines_cases_are_assembled(finished: Path, tmp_path: Path) -> None:
    """By what `make assemble` calls, from the plan and each case's own tables, findings too."""
    project, results = make_project(tmp_path / "assembled"), Path("results", "smoke")
    for case in ("tiny-ctx16-fp32", "tiny-ctx32-fp32"):
        tables = results / "tables" / case
        shutil.copytree(finished / tables, project.folder / tables)
    for file in ("plan.csv", "tables/ceilings.csv"):
        shutil.copy(finished / results / file, project.folder / results / file)
    call = [
        "make",
        "-n",
        "--no-print-directory",
        "-o",
        ".venv/installed",
        "assemble",
        f"CONFIG={' '.join(SUITE)}",
    ]
    said = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = shlex.split(said.replace("\\\n", " "))
    made = project.stale(*words[words.index("report.md") :])
    assert (made["join"], made["findings"], made["report"]) == (1, 1, 1)
    joined = [str(results / "tables" / f"{name}.csv") for name in ("timings", "findings")]
    project.run(*joined, *words[words.index("--allowed-rules") :])
    for file in joined:
        assert (project.folder / file).read_text() == (finished / file).read_text()


def test_a_killed_job_leaves_no_partial_result(project: Project) -> None:
    target, before = "results/smoke/export/tiny-ctx16-fp32", project.results()
    subprocess.run(["rm", "-r", str(project.folder / target)], check=True)
    project.run(target, check=False, stage="workflow_src.captures.export_case", kill=KILLED)
    assert not (project.folder / target).exists()
    (written,) = project.folder.rglob(".*.partial")
    project.run(target)
    subprocess.run(["rm", "-rf", str(written)], check=True)
    assert project.results() == before
    for file in project.folder.glob("results/smoke/*/*.json"):
        json.loads(file.read_text())


def test_eight_cores_measure_one_case_at_a_time(finished: Path) -> None:
    lines = [line.split()[:3] for line in Project(finished).log.read_text().splitlines()]
    marks = [(int(at), mark) for mark, stage, at in lines if ".measure." in stage]
    assert [mark for _, mark in sorted(marks)] == ["start", "end"] * 5


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("fresh"))


def test_bad_input_gives_a_one_sentence_error_and_nothing_runs(fresh: Project) -> None:
    printed = fresh.run("--config", "stepz=1", check=False)
    assert "config: unknown key: 'stepz' is not one of" in printed and "Traceback" not in printed
    assert fresh.stages() == [] and not (fresh.folder / "results").exists()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            "benchmark/tiny-ctx64-fp32.json",
            "case of smoke: 'tiny-ctx64-fp32' is not one of tiny-ctx16-fp32, ",
        ),
        ("../smoek/tables/kernels.csv", "results/smoek/ does not belong to this run"),
    ],
)
def test_an_unknown_target_is_refused_with_the_known_names(
    fresh: Project, target: str, said: str
) -> None:
    target = os.path.normpath(f"results/smoke/{target}")
    assert said in fresh.run(target, check=False)
    assert fresh.stages() == []


TEXTS = {"appendix": 1, "report": 1}
OF_TEXTS = TEXTS | {"front": 2, "answer": 1, "opening": 1}
OF_FAMILIES = {"case_tables": 2, "environment": 1, "join": 1, "answer": 6, "opening": 1}
OF_FAMILIES |= {"case_findings": 2, "findings": 1, "remedies": 1, "timeline": 2}
OF_FAMILIES |= {"front": 4} | TEXTS


def test_an_edited_file_remakes_what_depends_on_it(project: Project) -> None:
    """Edited one after another: what no result depends on, templates, and rules of families."""
    edits: list[tuple[dict[str, tuple[str, str]], dict[str, int]]] = [
        (
            {
                "config.yaml": ("# What to measure.", "# What is measured."),
            },
            {},
        ),
        ({"report_templates/report.md.j2": ("Companion", "Other")}, {"report": 1}),
        (
            {
                "report_templates/appendix.md.j2": ("# Appendix", "# Long tables"),
                "report_templates/report/trust.j2": ("be trusted", "be relied on"),
                "report_templates/answers/other_kernels.j2": ("e", "e "),
                "report_templates/case_card.j2": ("e", "e "),
            },
            OF_TEXTS,
        ),
        ({"workflow_src/placing/families.csv": ("before elem", "before Elem")}, OF_FAMILIES),
    ]
    for files, expected in edits:
        for file, (old, new) in files.items():
            project.edit(file, old, new)
        assert project.stale() == expected


def test_a_run_from_another_folder_is_refused(fresh: Project, tmp_path: Path) -> None:
    status, printed = snakemake(["-n", "-s", f"{fresh.folder}/Snakefile"], tmp_path, os.environ)
    assert status != 0
    assert f"all paths are relative to the project's folder: cd {fresh.folder}" in printed
    assert not list(tmp_path.glob("r*"))
