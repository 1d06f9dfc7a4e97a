"""What a run of snakemake that failed, was interrupted or was killed leaves to the next one."""

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from workflow_src.plan.progress import Job, Jobs
from workflow_src.plan.times import output_of

LOCKS = Path(".snakemake", "locks")
STARTED = Path(".snakemake", "incomplete")
"""Relative to the project's folder, in which snakemake runs."""


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


def is_locked(locks: Path = LOCKS) -> bool:
    """Whether a snakemake runs in this folder, or was killed in it."""
    return any(locks.glob("*.lock"))


def started(folder: Path = STARTED) -> dict[str, float]:
    """Outputs whose jobs began and haven't ended, and when: they run, or snakemake was killed."""
    found = {}
    for path in folder.rglob("*"):
        with suppress(OSError):
            if path.is_file():
                found[output_of(path, folder)] = path.stat().st_mtime
    return found


def lost(results: str) -> str:
    """What to say of a run's outputs that a killed snakemake lost; "" if there are none.

    Made again with -R, such an output is missing, and what was made from it before is there: then
    Snakemake finds nothing to do, and only its mark of a begun job tells.
    """
    begun = () if is_locked() else started()
    gone = sorted(
        path for path in begun if path.startswith(f"{results}/") and not Path(path).exists()
    )
    if not gone:
        return ""
    return (
        f"snakemake was killed while it made {', '.join(gone)}. If it finds nothing to do now, "
        f"make that again: add -R {shlex.join(gone)}"
    )
