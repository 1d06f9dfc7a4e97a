"""Prints, after each measuring job of a run, how many are done and how long the rest takes."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Protocol

from workflow_src.plan.times import by_rule, in_words, records

MEASURING = {
    "ceilings": "measurements of ceilings",
    "benchmark": "benchmarks",
    "capture": "captures",
    "study_point": "study points",
}
"""What the jobs of each rule that measures are called."""


class Job(Protocol):
    """A job of Snakemake's DAG."""

    jobid: int
    rule: Any
    output: Any


class Jobs(Protocol):
    """Snakemake's DAG."""

    jobs: Iterable[Job]

    def needrun_jobs(self) -> Iterable[Job]:
        """The jobs that will run."""


@dataclass
class Progress:
    """The measurements of a run: `total` by rule, and those `left` by job id.

    A job is expected to take what it took before (`seconds`, by job id), else the mean of its rule
    in this run, else what the rule took in others (`usual`).
    """

    total: Mapping[str, int]
    left: dict[int, str]
    seconds: dict[int, float]
    usual: Mapping[str, float] = field(default_factory=dict)
    started: dict[int, float] = field(default_factory=dict)
    took: dict[str, list[float]] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)

    def start(self, job: int, now: float) -> None:
        """A job starts at `now` (seconds)."""
        if job in self.left:
            self.failed.discard(job)
            self.started[job] = now

    def end(self, job: int, now: float) -> str:
        """A job ended well at `now` (seconds); the line to print, or "" if it measured nothing."""
        if job not in self.left:
            return ""
        at_once = max(1, len(self.started))
        took = now - self.started.pop(job, now)
        self.took.setdefault(self.left.pop(job), []).append(took)
        return self.line(at_once)

    def fail(self, job: int) -> str:
        """A job failed; the line to print, or "" if it would have measured nothing."""
        if job not in self.left:
            return ""
        self.started.pop(job, None)
        self.failed.add(job)
        return self.line(max(1, len(self.started)))

    def line(self, at_once: int) -> str:
        """How far the run is, `at_once` measurements running beside each other."""
        parts = [
            f"{total - list(self.left.values()).count(rule)}/{total} {MEASURING[rule]}"
            for rule, total in self.total.items()
        ]
        parts += [f"{len(self.failed)} failed"] if self.failed else []
        ahead = [self._expected(job) for job in self.left if job not in self.failed]
        known = [seconds for seconds in ahead if seconds is not None]
        if ahead and len(known) == len(ahead):
            parts.append(f"{in_words(sum(known) / at_once)} of measuring left")
        return f"[{', '.join(parts)}]"

    def _expected(self, job: int) -> float | None:
        rule = self.left[job]
        took = self.took.get(rule)
        return self.seconds.get(job, mean(took) if took else self.usual.get(rule))


def progress_of(dag: Jobs) -> Progress:
    """The progress of a run that is about to start."""
    rules = [job.rule.name for job in dag.jobs]
    left = {job.jobid: job for job in dag.needrun_jobs() if job.rule.name in MEASURING}
    known = records()
    same = {number: known.get(str(job.output[0])) for number, job in left.items()}
    seconds = {number: record.seconds for number, record in same.items() if record}
    total = {rule: rules.count(rule) for rule in MEASURING if rule in rules}
    names = {number: job.rule.name for number, job in left.items()}
    return Progress(total, names, seconds, by_rule(known.values()))


class Follower(logging.Handler):
    """Follows the events that Snakemake 9 logs; what Snakemake prints stays as it is."""

    def __init__(self, progress: Progress, say: Callable[[str], object]) -> None:
        super().__init__()
        self.progress, self.say = progress, say

    def emit(self, record: logging.LogRecord) -> None:
        """Count a job that starts or ends, and say so."""
        event = getattr(record, "event", None)
        line = ""
        match getattr(event, "value", event):
            case "job_info":
                self.progress.start(getattr(record, "jobid", -1), time.monotonic())
            case "job_finished":
                line = self.progress.end(getattr(record, "job_id", -1), time.monotonic())
            case "job_error":
                line = self.progress.fail(getattr(record, "jobid", -1))
        if line:
            self.say(line)


def follow(logger: Any, dag: Jobs) -> None:
    """Print progress whenever a measurement of this run ends.

    Snakemake 7's logger is of another kind and is not followed.
    """
    if isinstance(logger, logging.Logger):
        logger.addHandler(
            Follower(progress_of(dag), lambda line: print(line, file=sys.stderr, flush=True))
        )
