"""Prints what a run will do, how far it is, and how long measuring still takes."""

import logging
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

MEASURING = {
    "ceilings": "measurements of ceilings",
    "benchmark": "benchmarks",
    "capture": "captures",
    "study_point": "study points",
}

LAST_LINES = 10
"""Lines of a failed job's log to print."""


class Follower(logging.Handler):
    """Follows the events that Snakemake 9 logs, and prints how far a run is.

    dag: Snakemake's. briefly: each job is told, and nothing else is. A job is expected to take the
    mean of its rule in this run.
    """

    def __init__(self, dag: Any, briefly: bool) -> None:
        super().__init__()
        jobs = {job.jobid: job.rule.name for job in dag.needrun_jobs()}
        self.briefly = briefly
        self.total = Counter(job.rule.name for job in dag.jobs)
        self.left = {number: rule for number, rule in jobs.items() if rule in MEASURING}
        self.derived = jobs.keys() - self.left.keys()
        self.all_derived = len(self.derived)
        self.started = dict[int, float]()
        self.took = defaultdict[str, list[float]](list)
        self.failed = set[int]()

    def planned(self) -> str:
        """What the run is about to do."""
        counts = Counter(self.left.values())
        does = [f"{counts[rule]} {name}" for rule, name in MEASURING.items() if counts[rule]]
        does += [f"{self.all_derived} tables, answers and figures"] if self.derived else []
        return f"To make: {', '.join(does)}."

    def emit(self, record: logging.LogRecord) -> None:
        """Count a job that starts or ends, and say so."""
        job, event = getattr(record, "jobid", getattr(record, "job_id", -1)), _event(record)
        at_once = max(1, len(self.started))
        if event == "job_info":
            self.started |= {job: time.monotonic()} if job in self.left else {}
        elif event == "job_error" and self.briefly:
            self._say(_failure(record), True)
        if event not in ("job_finished", "job_error"):
            return
        if job in self.left:
            began = self.started.pop(job, time.monotonic())
            if event == "job_finished":
                self.took[self.left.pop(job)].append(time.monotonic() - began)
            self.failed = self.failed | {job} if event == "job_error" else self.failed - {job}
            self._say(self._measured(at_once), not self.left)
        elif self.briefly and event == "job_finished" and job in self.derived:
            self.derived -= {job}
            done = self.all_derived - len(self.derived)
            self._say(f"[{done}/{self.all_derived} tables, answers and figures]", not self.derived)

    def _measured(self, at_once: int) -> str:
        left = Counter(self.left.values())
        parts = [
            f"{self.total[rule] - left[rule]}/{self.total[rule]} {name}"
            for rule, name in MEASURING.items()
            if rule in self.total
        ]
        parts += [f"{len(self.failed)} failed"] if self.failed else []
        ahead = [self.took[rule] for job, rule in self.left.items() if job not in self.failed]
        if ahead and all(ahead):
            parts.append(f"{in_words(sum(map(mean, ahead)) / at_once)} of measuring left")
        return f"[{', '.join(parts)}]"

    def _say(self, line: str, stays: bool) -> None:
        """Print a line; on a terminal, the next replaces one that doesn't stay."""
        on_terminal = self.briefly and sys.stderr.isatty()
        if stays or on_terminal or not self.briefly:
            start, end = ("\r\x1b[K", "\n" if stays else "") if on_terminal else ("", "\n")
            print(f"{start}{line}", end=end, file=sys.stderr, flush=True)


def in_words(seconds: float) -> str:
    """A duration: "about 40 s", "about 4 min", "about 2 h 10 min"."""
    if seconds < 60:
        return f"about {max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes)
    return f"about {' '.join(parts)}"


def is_brief(workflow: Any) -> bool:
    """Whether Snakemake runs with `--quiet reason`, as by `make report`."""
    quiet = getattr(getattr(workflow, "output_settings", None), "quiet", None) or ()
    return "reason" in {str(getattr(each, "name", each)).lower() for each in quiet}


def follow(logger: Any, dag: Any, briefly: bool) -> None:
    """Print progress whenever a measurement of this run ends.

    briefly: first what the run does, and no lines of Snakemake's on jobs that run well. Snakemake
    7's logger is of another kind and isn't followed.
    """
    if not isinstance(logger, logging.Logger):
        return
    follower = Follower(dag, briefly)
    if briefly:
        print(follower.planned(), file=sys.stderr, flush=True)
        for handler in logger.handlers:
            handler.addFilter(_tells)
    logger.addHandler(follower)


def _tells(record: logging.LogRecord) -> bool:
    """Whether Snakemake's record is a warning, or an error that isn't a job's."""
    repeats = getattr(record, "exception", "") in ("RuleException", "WorkflowError")
    of_job = _event(record) in ("job_error", "group_error")
    return record.levelno >= logging.WARNING and not of_job and not repeats


def _event(record: logging.LogRecord) -> str:
    event = getattr(record, "event", None)
    return str(getattr(event, "value", event))


def _failure(record: logging.LogRecord) -> str:
    logs = [Path(each) for each in getattr(record, "log", None) or [] if Path(each).is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in logs]
    said = [f"  {line}" for text in texts for line in text.splitlines()[-LAST_LINES:]]
    made = ", ".join(map(str, getattr(record, "output", None) or []))
    where = f"  (all of it: {', '.join(map(str, logs)) or 'no log'})"
    return "\n".join([f"FAILED: {made}", *said, where])
