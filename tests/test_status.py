"""The status of a run: what is done, stale, failed or running, and what would run."""

import argparse
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.workflow import ROOT, SUITE, Project, make_project, served_stage
from workflow_src.cli import states
from workflow_src.cli.dry_run import why
from workflow_src.cli.settings import configured, setting
from workflow_src.cli.states import Known, Output, State, state
from workflow_src.cli.status import in_bytes, lines, main
from workflow_src.common.device_locks import VARIABLE, one_locked
from workflow_src.common.errors import ConfigError
from workflow_src.common.nsys_cli import export_files
from workflow_src.plan import kept
from workflow_src.plan.kept import METADATA, Record, by_rule, in_words, output_of, records
from workflow_src.plan.progress import Progress, progress_of
from workflow_src.plan.suites import make_plan

BENCHMARK = "results/smoke/benchmark/tiny-ctx16-fp32.json"
LOG = "results/smoke/logs/benchmark/tiny-ctx16-fp32.json.log"


def told(project: Project, *config: str) -> str:
    """What the command prints in a project's folder."""
    given = ("--config", *(config or SUITE))
    status, printed = served_stage(project.folder, "workflow_src.cli.status", *given)
    assert status == 0, printed
    return printed.rstrip()


def words(printed: str, case: str) -> list[str]:
    """The states of a case's four stages."""
    (row,) = [line for line in printed.splitlines() if line.startswith(case + " ")]
    return [word.strip() for word in row.removeprefix(case).split("  ") if word.strip()]


def mark(folder: Path, output: str) -> Path:
    """The file that Snakemake keeps about an output in one of its folders."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / base64.urlsafe_b64encode(output.encode()).decode()


def rewritten(path: Path, text: str) -> None:
    """Change a file without Snakemake noticing."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.workflow
def test_a_finished_run_has_nothing_to_do(project: Project) -> None:
    printed = told(project)
    assert words(printed, "tiny-ctx32-fp32") == ["done"] * 4
    assert "answers: 6 of 6 up to date; report.md: done" in printed
    assert printed.endswith("next: nothing to do")
    assert "stale" not in printed and "locked" not in printed


@pytest.mark.workflow
def test_what_a_changed_setting_makes_stale_is_named_with_the_setting(project: Project) -> None:
    changed = [*SUITE[:2], "steps=3", SUITE[3]]
    before = project.results()
    printed = told(project, *changed)
    assert words(printed, "tiny-ctx16-fp32") == ["stale", "done", "done", "stale"]
    assert "stale: benchmark of 2: steps was 2, is 3" in printed
    assert "stale: tables of 2: what it is made from is made again" in printed
    assert "runs 24 jobs (2 benchmark, " in printed and "), about " in printed
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
def test_a_file_deleted_inside_of_an_export_is_named_and_made_again(project: Project) -> None:
    """Snakemake knows a folder by its time stamp, and not by what is in it."""
    export = "results/smoke/export/tiny-ctx16-fp32"
    lost = project.folder / export / "trace.json.gz"
    lost.unlink()
    printed = told(project)
    advice = f"trace.json.gz deleted; run the same command again with -R {export}"
    assert f"damaged: export tiny-ctx16-fp32: {advice}" in printed
    project.run(export, "-R", export)
    assert lost.is_file()
    assert words(told(project), "tiny-ctx16-fp32")[2] == "done"


def test_an_export_by_nsys_holds_what_nsys_stats_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    holds = export_files(".nsys-rep")
    assert len(holds) == 8 and export_files(".kineto.json.gz") == ("trace.json.gz",)
    Path("e").mkdir()
    for name in holds:
        Path("e", name).touch()
    output = Output("export", "case", Path("e"), Path("log"), holds=holds)
    nothing = Known({}, {}, None)
    assert state(output, nothing).word == "done"
    Path("e", "cuda_api_sum.csv").unlink()
    said = "cuda_api_sum.csv deleted; run the same command again with -R e"
    assert state(output, nothing) == State(output, "damaged", said)


@pytest.mark.workflow
def test_where_snakemake_cannot_write_the_files_that_are_there_are_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "metadata")
    monkeypatch.setattr("workflow_src.cli.status.holders", dict)
    printed = "\n".join(lines(SUITE))
    assert words(printed, "tiny-ctx32-fp32") == ["there"] * 4
    assert "ceilings: there" in printed and "up to date" not in printed
    assert printed.endswith(
        "next: not known, nor what of this is stale: a dry run of snakemake writes into "
        f".snakemake, which isn't possible here ({Path.cwd()}/.snakemake/metadata can't be "
        "written to)"
    )
    printed = "\n".join(lines([*SUITE[:-1], "cpu_threads=1", "tag=none"]))
    assert words(printed, "tiny-ctx32-fp32") == ["not yet"] * 4


@pytest.mark.workflow
def test_in_a_fresh_folder_nothing_is_made_and_what_fails_is_told_with_its_log(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    printed = told(project)
    assert words(printed, "tiny-ctx16-fp32") == ["not yet"] * 4 and "ceilings: not yet" in printed
    assert "environment: nothing is measured yet" in printed and "disk: 0 bytes" in printed
    assert "runs 32 jobs (2 benchmark, 2 capture," in printed and "no times known yet" in printed
    assert project.results() == set() and not list(tmp_path.glob(".snakemake/locks/*"))
    project.run("results/smoke/ceilings.json", check=False, stage="workflow_src.measure.ceilings")
    printed = told(project)
    failed = "injected failure of workflow_src.measure.ceilings"
    log = "results/smoke/logs/ceilings.json.log"
    assert "ceilings: failed" in printed
    assert f"failed: ceilings of this machine: {failed} ({log})" in printed
    project.run("results/smoke/plan.csv", check=False, stage="workflow_src.plan.write_plan")
    printed = told(project)
    assert "failed: plan results/smoke/plan.csv: injected failure of" in printed
    assert printed.count("failed: ") == 2


@pytest.mark.workflow
def test_ceilings_that_are_measured_again_are_no_reason_to_refuse(project: Project) -> None:
    """As snakemake, which compares the environment only of what is kept."""
    path = project.folder / "results/smoke/ceilings.json"
    result = json.loads(path.read_text())
    result["environment"]["torch"] = "1.0"
    rewritten(path, json.dumps(result))
    code = project.folder / "workflow_src/measure/ceilings.py"
    code.write_text(code.read_text() + "\n\nmeasured_alone = measured_alone\n")
    printed = told(project)
    assert "ceilings: stale" in printed and "environment: torch: measured with '1.0'" in printed
    assert "next: measuring is refused" not in printed


@pytest.mark.workflow
def test_a_case_that_allow_missing_leaves_out_keeps_its_state(project: Project) -> None:
    """One that failed has its log; neither it nor what was never measured was deleted."""
    for path in project.folder.glob("results/smoke/*/tiny-ctx16-fp32*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    failing = ["results/smoke/benchmark/tiny-ctx16-fp32.json", "--config", *SUITE]
    stage = "workflow_src.measure.benchmark"
    assert "[0/1 benchmarks, 1 failed]" in project.run(*failing, check=False, stage=stage)
    printed = told(project, *SUITE, "allow_missing=true")
    assert words(printed, "tiny-ctx16-fp32") == ["failed", *["not yet"] * 3]
    failed = f"failed: benchmark tiny-ctx16-fp32: injected failure of {stage} ({LOG})"
    assert failed in printed and "deleted" not in printed
    assert words(printed, "tiny-ctx32-fp32") == ["done"] * 4


@contextmanager
def snakemake_in(folder: Path) -> Iterator[int]:
    """A process that looks like a run of snakemake in `folder`; yields its id."""
    script = folder / "snakemake"
    script.write_text("import time; print('ready', flush=True); time.sleep(600)")
    command = [sys.executable, str(script), "--cores", "1"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.mark.workflow
def test_what_a_killed_run_lost_of_a_finished_one_is_told_with_how_to_make_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it made that again with -R: what was made from it before hides that it lacks."""
    (project.folder / BENCHMARK).unlink()
    mark(project.folder / kept.STARTED, BENCHMARK).write_text("{}")
    printed = project.run("-n")
    assert "Nothing to be done" in printed
    assert f"note: snakemake was killed while it made {BENCHMARK}. If it" in printed
    assert f"make that again: add -R {BENCHMARK}." in printed
    printed = told(project)
    advice = f"run the same command again with -R {BENCHMARK}"
    assert f"snakemake ended before it was made; {advice}" in printed
    monkeypatch.chdir(project.folder)
    locks = kept.LOCKS
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").touch()
    assert kept.lost("results/smoke") == "", "it may be made just now"
    (locks / "0.output.lock").unlink()
    assert kept.lost("results/other") == "" != kept.lost("results/smoke")


@pytest.mark.workflow
def test_a_run_in_progress_is_told_apart_from_one_that_was_killed(
    tmp_path: Path, own_locks: None
) -> None:
    project = make_project(tmp_path)
    left = mark(tmp_path / kept.STARTED, BENCHMARK.replace("16", "32"))
    left.write_text("{}")
    os.utime(left, (time.time() - 60, time.time() - 60))
    (tmp_path / kept.LOCKS).mkdir(parents=True)
    (tmp_path / kept.LOCKS / "0.output.lock").write_text(BENCHMARK)
    with snakemake_in(tmp_path) as pid, one_locked(["cpu"], "tiny-ctx16-fp32", 0):
        mark(tmp_path / kept.STARTED, BENCHMARK).write_text("{}")
        printed = told(project)
    assert words(printed, "tiny-ctx16-fp32")[0] == "running"
    assert words(printed, "tiny-ctx32-fp32")[0] == "interrupted", "an earlier run began it"
    assert f"running: snakemake (process {pid}) in this folder" in printed
    assert "device: cpu is held by process" in printed and "for tiny-ctx16-fp32" in printed
    assert "left: 32 jobs" in printed
    printed = told(project)
    assert "interrupted: benchmark of 2: snakemake ended before" in printed
    assert "locked: snakemake was killed here (`make unlock`)" in printed
    assert "device: " not in printed.split("environment")[0].split("\n\n")[-1]
    assert kept.is_locked(tmp_path / kept.LOCKS), "the command leaves locks alone"


def test_a_snakemake_that_only_tells_takes_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with snakemake_in(tmp_path) as pid:
        assert states.snakemakes() == {}
        kept.LOCKS.mkdir(parents=True)
        (kept.LOCKS / "0.output.lock").touch()
        assert list(states.snakemakes()) == [pid]
        assert abs(states.snakemakes()[pid] - time.time()) < 60
    assert states.snakemakes() == {}


def test_a_killed_holder_is_no_holder(own_locks: None) -> None:
    with one_locked(["cpu"], "a case", 0):
        (folder,) = Path(os.environ[VARIABLE]).iterdir()
        assert list(states.holders()) == ["cpu"]
        left = (folder / "cpu.lock").read_text()
    (folder / "cpu.lock").write_text(left)
    assert states.holders() == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["suite=smok"], "suite: 'smok' is not one of"),
        (["steps=0"], "steps: 0 must be 1 or more"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_sentence(
    given: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["status", "--config", *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert said in str(ended.value) and "\n" not in str(ended.value)


def test_a_damaged_plan_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "config.yaml", tmp_path)
    (tmp_path / "results/smoke").mkdir(parents=True)
    (tmp_path / "results/smoke/plan.csv").write_text("device\nabacus\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="is not a plan"):
        list(lines(SUITE))


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


def test_a_date_is_a_tag() -> None:
    plan = make_plan(configured([*SUITE, "tag=2026-11-22"], ROOT / "config.yaml"))
    assert plan.tag == "2026-11-22"


ROW = '{"steps": 2, "said": "it\'s, now: so"}'
CODE, OTHER_CODE = "'0123456789ab'", "'ba9876543210'"


def changed(before: set[str], now: set[str]) -> SimpleNamespace:
    """How Snakemake 9 tells which params changed."""
    return SimpleNamespace(only_old=before, only_new=now)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ({}, ""),
        ({"updated_input": {"b", "a"}}, "a, b changed"),
        (
            {"updated_input": {"a", "b"}, "updated_input_run": {"b"}, "incomplete_output": {"c"}},
            "it was interrupted and a changed and what it is made from is made again",
        ),
        ({"input_changed": True}, "it is made from other files"),
        ({"code_changed": True}, "its rule changed"),
        ({"forced": True}, "it is forced"),
        ({"params_changed": changed({CODE}, {OTHER_CODE})}, "its code changed"),
        (
            {"params_changed": changed({repr(ROW), CODE}, {repr(ROW.replace("2", "3")), CODE})},
            "steps was 2, is 3 and its code changed",
        ),
        ({"params_changed": changed(set(), {"'--os-tracing'"})}, "its params changed"),
        ({"params_changed": True}, "its params changed"),
    ],
)
def test_reasons_are_told_in_words(reason: dict[str, Any], said: str) -> None:
    flags = ("forced", "input_changed", "code_changed", "software_stack_changed", "params_changed")
    sets = ("updated_input", "updated_input_run", "incomplete_output")
    usual = dict.fromkeys(flags, False) | dict.fromkeys(sets, frozenset())
    assert why(SimpleNamespace(**usual | reason)) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "about 1 s"),
        (41, "about 41 s"),
        (239, "about 4 min"),
        (3600, "about 1 h"),
        (7800, "about 2 h 10 min"),
    ],
)
def test_times_are_in_words(seconds: float, said: str) -> None:
    assert in_words(seconds) == said


@pytest.mark.parametrize(
    ("size", "said"), [(0, "0 bytes"), (1974000, "1.97 MB"), (5e15, "5e+03 TB")]
)
def test_sizes_are_in_the_largest_unit(size: float, said: str) -> None:
    assert in_bytes(size) == said


def test_times_are_those_of_outputs_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for output, end in (("there", 14.0), ("failed", 10.1), ("damaged", None)):
        kept = {"rule": "benchmark", "starttime": 10.0, "endtime": end}
        mark(Path("metadata"), output).write_text(json.dumps(kept))
    Path("there").write_text("")
    Path("damaged").write_text("")
    assert records(Path("metadata")) == {"there": Record("benchmark", 4.0)}
    assert by_rule([Record("a", 4.0), Record("a", 2.0)]) == {"a": 3.0}


def test_the_name_of_a_long_output_is_in_pieces() -> None:
    coded = base64.urlsafe_b64encode(b"results/" + b"x" * 300).decode()
    path = Path("folder", "@" + coded[:200], coded[200:])
    assert output_of(path, Path("folder")) == "results/" + "x" * 300
    assert output_of(Path("folder/migration"), Path("folder")) == ""


def test_a_failure_is_looked_for_in_the_run_that_wrote_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Error in rule benchmark:\n    message: None\n    jobid: 8\n    output: a.json, b.json\n"
    for name, content, when in (("old.log", text, 100), ("new.log", "fine\n", 200), ("job", "", 0)):
        (tmp_path / name).write_text(content)
        os.utime(tmp_path / name, (when, when))
    monkeypatch.setattr(states, "RUNS", tmp_path)
    job = tmp_path / "job"
    assert states.failed_with(job) == {"a.json", "b.json"}
    os.utime(job, (150, 150))
    assert states.failed_with(job) == set(), "a later run made it, and it was deleted"
    os.utime(job, (time.time(), time.time()))
    assert states.failed_with(job) == set()


def test_progress_counts_and_expects_what_jobs_took() -> None:
    left = {1: "benchmark", 2: "benchmark", 3: "capture", 4: "benchmark"}
    progress = Progress({"benchmark": 60, "capture": 60}, left, {3: 40.0})
    progress.start(1, 0.0)
    assert (
        progress.end(1, 100.0)
        == "[58/60 benchmarks, 59/60 captures, about 4 min of measuring left]"
    )
    progress.start(2, 100.0)
    assert progress.fail(2) == (
        "[58/60 benchmarks, 59/60 captures, 1 failed, about 2 min of measuring left]"
    )
    progress.start(3, 200.0)
    progress.start(4, 200.0)
    expected = "[58/60 benchmarks, 60/60 captures, 1 failed, about 50 s of measuring left]"
    assert progress.end(3, 230.0) == expected, "two devices halve the time"
    assert progress.end(99, 240.0) == progress.fail(99) == "", "what measures nothing isn't counted"
    assert progress.end(4, 300.0) == "[59/60 benchmarks, 60/60 captures, 1 failed]"


def test_progress_learns_from_this_run_where_others_took_another_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, benchmarks took an hour on average, and the third one of this run 5 minutes."""
    monkeypatch.chdir(tmp_path)
    for output, seconds in (("other", 6900), ("3.json", 300)):
        Path(output).touch()
        kept = {"rule": "benchmark", "starttime": 0, "endtime": seconds}
        mark(METADATA, output).write_text(json.dumps(kept))
    benchmark = SimpleNamespace(name="benchmark")
    jobs = [
        SimpleNamespace(jobid=number, rule=benchmark, output=[f"{number}.json"])
        for number in (1, 2, 3)
    ]
    progress = progress_of(SimpleNamespace(jobs=jobs, needrun_jobs=lambda: jobs))
    progress.start(1, 0.0)
    assert "about 1 h 5 min of measuring left" in progress.fail(1)
    progress.start(1, 0.0)
    assert "about 6 min of measuring left" in progress.end(1, 60.0)


def test_progress_says_no_time_that_is_not_known() -> None:
    progress = Progress({"benchmark": 2, "capture": 1}, {1: "benchmark", 2: "capture"}, {})
    assert progress.end(1, 5.0) == "[2/2 benchmarks, 0/1 captures]"
