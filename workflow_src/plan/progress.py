"""Prints what a run is about to do, how far it is, and how long the rest takes."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any, Protocol

from workflow_src.plan.kept import by_rule, in_words, records

MEASURING = {
    "ceilings": "measurements of ceilings",
    "benchmark": "benchmarks",
    "capture": "captures",
    "study_point": "study points",
}
"""What the jobs of each rule that measures are called."""

LAST_LINES = 10
"""So many of a failed job's log are printed."""

LEAST_S, DERIVED_S = 6.0, 2.0
"""Seconds that a job takes which was never run here, one that measures and any other: what those
of the smallest models took on two cores of a CPU, most of it to start Python and import torch."""


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
        return self._line(at_once)

    def fail(self, job: int) -> str:
        """A job failed; the line to print, or "" if it would have measured nothing."""
        if job not in self.left:
            return ""
        self.started.pop(job, None)
        self.failed.add(job)
        return self._line(max(1, len(self.started)))

    def _line(self, at_once: int) -> str:
        """How far the run is, `at_once` measurements running beside each other."""
        left = Counter(self.left.values())
        parts = [f"{n - left[rule]}/{n} {MEASURING[rule]}" for rule, n in self.total.items()]
        parts += [f"{len(self.failed)} failed"] if self.failed else []
        ahead = [self.expected(job) for job in self.left if job not in self.failed]
        known = [seconds for seconds in ahead if seconds is not None]
        if ahead and len(known) == len(ahead):
            parts.append(f"{in_words(sum(known) / at_once)} of measuring left")
        return f"[{', '.join(parts)}]"

    def expected(self, job: int) -> float | None:
        """The seconds that a job left is expected to take; None if that isn't known."""
        rule = self.left[job]
        took = self.took.get(rule)
        return self.seconds.get(job, mean(took) if took else self.usual.get(rule))


def progress_of(dag: Jobs) -> Progress:
    """The progress of a run that is about to start."""
    rules = Counter(job.rule.name for job in dag.jobs)
    left = {job.jobid: job for job in dag.needrun_jobs() if job.rule.name in MEASURING}
    known = records()
    outputs = {number: str(job.output[0]) for number, job in left.items()}
    return Progress(
        total={rule: rules[rule] for rule in MEASURING if rule in rules},
        left={number: job.rule.name for number, job in left.items()},
        seconds={n: known[output].seconds for n, output in outputs.items() if output in known},
        usual=by_rule(known.values()),
    )


class Follower(logging.Handler):
    """Follows the events that Snakemake 9 logs, and says how far a run is.

    say: prints a line, which the next one replaces on a terminal unless it `stays`. derived: what
    is made of measurements, by job id.
    """

    def __init__(
        self, progress: Progress, say: Callable[[str, bool], object], derived: Collection[int] = ()
    ) -> None:
        super().__init__()
        self.progress, self.say, self.derived = progress, say, set(derived)
        self.total = len(self.derived)

    def emit(self, record: logging.LogRecord) -> None:
        """Count a job that starts or ends, and say so."""
        job = getattr(record, "jobid", getattr(record, "job_id", -1))
        now, measured = time.monotonic(), ""
        match _event(record):
            case "job_info":
                self.progress.start(job, now)
            case "job_finished":
                measured = self.progress.end(job, now)
                if job in self.derived:
                    self.derived.discard(job)
                    done = f"{self.total - len(self.derived)}/{self.total}"
                    self.say(f"[{done} tables, answers and figures]", not self.derived)
            case "job_error":
                measured = self.progress.fail(job)
                if self.derived:
                    self.say(_failure(record), True)
        if measured:
            self.say(measured, not self.progress.left)


def is_brief(workflow: Any) -> bool:
    """Whether Snakemake's `workflow` runs with `--quiet reason`, as `make report` does."""
    quiet = getattr(getattr(workflow, "output_settings", None), "quiet", None) or ()
    return "reason" in {str(getattr(each, "name", each)).lower() for each in quiet}


def printed(line: str, stays: bool) -> None:
    """A line on stderr; on a terminal one that doesn't stay is replaced by the next."""
    on_terminal = sys.stderr.isatty()
    if stays or on_terminal:
        end = "\n" if stays else ""
        print(f"\r\x1b[K{line}" if on_terminal else line, end=end, file=sys.stderr, flush=True)


def planned(progress: Progress, derived: int) -> str:
    """What a run is about to do, and how long that takes at least."""
    counts = Counter(progress.left.values())
    does = [f"{counts[rule]} {name}" for rule, name in MEASURING.items() if counts[rule]]
    does += [f"{derived} tables, answers and figures"] if derived else []
    ahead = sum(progress.expected(job) or LEAST_S for job in progress.left)
    return f"To make: {', '.join(does)}; {in_words(ahead + derived * DERIVED_S)} or more."


def follow(logger: Any, dag: Jobs, briefly: bool) -> None:
    """Print progress whenever a measurement of this run ends.

    briefly: Snakemake's own lines on jobs that run well are left out, and what the run does is
    said first. Snakemake 7's logger is of another kind and is not followed.
    """
    if not isinstance(logger, logging.Logger):
        return
    progress = progress_of(dag)
    if not briefly:
        logger.addHandler(Follower(progress, lambda line, stays: printed(line, True)))
        return
    derived = {job.jobid for job in dag.needrun_jobs()} - progress.left.keys()
    printed(planned(progress, len(derived)), True)
    for handler in logger.handlers:
        handler.addFilter(_tells)
    logger.addHandler(Follower(progress, printed, derived))


def _tells(record: logging.LogRecord) -> bool:
    """Whether Snakemake's own record says what a brief run doesn't: a warning, or an error that
    isn't a job's.
    """
    repeats = getattr(record, "exception", "") in ("RuleException", "WorkflowError")
    of_job = _event(record) in ("job_error", "group_error")
    return record.levelno >= logging.WARNING and not of_job and not repeats


def _event(record: logging.LogRecord) -> str:
    event = getattr(record, "event", None)
    return str(getattr(event, "value", event))


def _failure(record: logging.LogRecord) -> str:
    """Which job failed, the last lines of its log, and where that is."""
    logs = [Path(each) for each in getattr(record, "log", None) or [] if Path(each).is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in logs]
    said = [f"  {line}" for text in texts for line in text.splitlines()[-LAST_LINES:]]
    made = ", ".join(map(str, getattr(record, "output", None) or []))
    where = f"  (all of it: {', '.join(map(str, logs)) or 'no log'})"
    return "\n".join([f"FAILED: {made}", *said, where])
