"""What a run says of itself while it goes, and with `--quiet reason`, as `make report` has it."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workflow_src.plan import progress
from workflow_src.plan.progress import Follower


def dag(done: dict[str, int] | None = None, **rules: int) -> SimpleNamespace:
    """A DAG of so many jobs of each rule, to run, beside some that are done."""
    names = [name for name, number in rules.items() for _ in range(number)]
    made = [
        SimpleNamespace(jobid=number, rule=SimpleNamespace(name=name))
        for number, name in enumerate(names)
    ]
    there = [
        SimpleNamespace(rule=SimpleNamespace(name=name))
        for name, number in (done or {}).items()
        for _ in range(number)
    ]
    return SimpleNamespace(jobs=[*made, *there], needrun_jobs=lambda: made)


def record(event: str, **about: Any) -> logging.LogRecord:
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, "", (), None)
    made.__dict__.update(event=SimpleNamespace(value=event), **about)
    return made


def test_a_brief_run_says_a_line_a_stage_and_the_log_of_what_failed(
    tmp_path: Path, capsys: Any
) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")
    follower = Follower(dag(benchmark=2, answer=1), True)
    follower.emit(record("job_error", jobid=0, log=[log], output=["x.json"]))
    follower.emit(record("job_finished", job_id=1))
    follower.emit(record("job_finished", job_id=0))
    follower.emit(record("job_finished", job_id=2))
    assert capsys.readouterr().err.splitlines() == [
        "FAILED: x.json", "  one", "  two", f"  (all of it: {log})",
        "[2/2 benchmarks]",
        "[1/1 tables, answers and figures]",
    ]  # fmt: skip


def test_progress_counts_and_expects_what_jobs_of_this_run_took(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    follower = Follower(dag({"benchmark": 57, "capture": 60}, benchmark=3, answer=1), False)

    def said(event: str, job: int, now: float) -> str:
        monkeypatch.setattr(progress.time, "monotonic", lambda: now)
        follower.emit(record(event, jobid=job))
        return str(capsys.readouterr().err)

    assert said("job_info", 0, 0.0) == ""
    assert said("job_error", 0, 10.0) == "[57/60 benchmarks, 60/60 captures, 1 failed]\n"
    said("job_info", 0, 10.0)
    expected = "[58/60 benchmarks, 60/60 captures, about 2 min of measuring left]\n"
    assert said("job_finished", 0, 70.0) == expected, "tried again, and learnt from"
    said("job_info", 1, 70.0)
    said("job_info", 2, 70.0)
    expected = "[59/60 benchmarks, 60/60 captures, about 30 s of measuring left]\n"
    assert said("job_finished", 1, 130.0) == expected, "two devices halve the time"
    assert said("job_finished", 3, 140.0) == "", "what measures nothing isn't counted"
    assert said("job_finished", 2, 140.0) == "[60/60 benchmarks, 60/60 captures]\n"


def test_times_are_in_words() -> None:
    said = ["about 1 s", "about 41 s", "about 4 min", "about 1 h", "about 2 h 10 min"]
    assert [progress.in_words(seconds) for seconds in (0.2, 41, 239, 3600, 7800)] == said
