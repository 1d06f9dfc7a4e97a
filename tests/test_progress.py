"""What a run says of itself with `--quiet reason`, as `make report` has it."""

import base64
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workflow_src.plan.kept import METADATA
from workflow_src.plan.progress import Follower, Progress, planned, printed, progress_of


def jobs(**rules: int) -> SimpleNamespace:
    """A DAG of so many jobs of each rule, all to run."""
    names = [name for name, number in rules.items() for _ in range(number)]
    made = [
        SimpleNamespace(jobid=number, rule=SimpleNamespace(name=name), output=[f"{name}{number}"])
        for number, name in enumerate(names)
    ]
    return SimpleNamespace(jobs=made, needrun_jobs=lambda: made)


def record(event: str, **about: Any) -> logging.LogRecord:
    """An event as Snakemake logs it."""
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, "", (), None)
    made.__dict__.update(event=SimpleNamespace(value=event), **about)
    return made


def test_a_run_says_first_what_it_makes() -> None:
    progress = progress_of(jobs(benchmark=2, capture=2, answer=6))
    assert planned(progress, 6) == (
        "To make: 2 benchmarks, 2 captures, 6 tables, answers and figures; about 36 s or more."
    )


def test_a_brief_run_says_a_line_a_stage_and_the_log_of_what_failed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")
    said: list[tuple[str, bool]] = []
    progress = Progress({"benchmark": 2}, {0: "benchmark", 1: "benchmark"}, {})
    follower = Follower(progress, lambda *line: said.append(line), derived=[2])
    follower.emit(record("job_error", jobid=0, log=[log], output=["x.json"]))
    follower.emit(record("job_finished", job_id=1))
    follower.emit(record("job_finished", job_id=2))
    assert said == [
        (f"FAILED: x.json\n  one\n  two\n  (all of it: {log})", True),
        ("[0/2 benchmarks, 1 failed]", False),
        ("[1/2 benchmarks, 1 failed]", False),
        ("[1/1 tables, answers and figures]", True),
    ]


def test_a_line_stays_where_there_is_no_terminal(capsys: Any) -> None:
    printed("[1/2 benchmarks]", False)
    printed("[2/2 benchmarks]", True)
    assert capsys.readouterr().err == "[2/2 benchmarks]\n"


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
        METADATA.mkdir(parents=True, exist_ok=True)
        name = base64.urlsafe_b64encode(output.encode()).decode()
        (METADATA / name).write_text(json.dumps(kept))
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
