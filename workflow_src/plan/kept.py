"""What Snakemake keeps in its own folder: its lock, and what a killed run left."""

import base64
from contextlib import suppress
from pathlib import Path
from typing import Any

LOCKS = Path(".snakemake", "locks")
STARTED = Path(".snakemake", "incomplete")
"""Relative to the project's folder, in which snakemake runs."""


def output_of(path: Path, folder: Path) -> str:
    """The output that a file in one of Snakemake's folders is about; "" if it is about none.

    Its name is the output's path in base64, in pieces if it is long: `@` marks all but the last.
    """
    coded = "".join(part.removeprefix("@") for part in path.relative_to(folder).parts)
    with suppress(ValueError):
        return base64.urlsafe_b64decode(coded).decode()
    return ""


def keep_unfinished(persistence: Any) -> None:
    """Mark what was to be made again and wasn't, so that the next run makes it.

    Snakemake takes an output that a failed or interrupted job lost for one that nothing needs, if
    what was made from it before is there. persistence: its record of what it made.
    """
    for job in persistence.dag.needrun_jobs():
        if any(Path(str(file)).exists() for file in job.output):
            persistence.started(job)


def is_locked(locks: Path = LOCKS) -> bool:
    """Whether a snakemake runs in this folder, or was killed in it."""
    return any(locks.glob("*.lock"))


def started(folder: Path = STARTED) -> set[str]:
    """Outputs whose jobs began and haven't ended: they run, or snakemake was killed."""
    return {output_of(path, folder) for path in folder.rglob("*") if path.is_file()}
