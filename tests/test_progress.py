"""What a run says of itself with `--quiet reason`, as `make report` has it."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
