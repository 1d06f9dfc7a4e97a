"""What a run of snakemake that failed or was interrupted leaves to the next one."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol


class Job(Protocol):
    """A job of Snakemake's DAG."""

    output: Iterable[object]


class Jobs(Protocol):
    """Snakemake's DAG."""

    def needrun_jobs(self) -> Iterable[Job]:
        """The jobs that were to run and haven't."""


class Persistence(Protocol):
    """Snakemake's record of what it made."""

    dag: Jobs

    def started(self, job: Job) -> None:
        """Mark a job's outputs as incomplete."""


def keep_unfinished(persistence: Persistence) -> None:
    """Mark what was to be made again and wasn't, so that the next run makes it.

    Snakemake takes an output that a failed or interrupted job lost for one that nothing needs, if
    what was made from it before is there.
    """
    for job in persistence.dag.needrun_jobs():
        if any(Path(str(file)).exists() for file in job.output):
            persistence.started(job)
