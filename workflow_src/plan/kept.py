"""What Snakemake keeps of each output: how long its job took, and what a killed run left."""

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

METADATA = Path(".snakemake", "metadata")
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


def records(folder: Path = METADATA) -> dict[str, tuple[str, float]]:
    """Of each output that is there the rule that made it, and how many seconds its job took.

    Jobs that failed have records, too. One that is damaged, or being written, is left out.
    """
    found = {}
    for path in (path for path in folder.rglob("*") if path.is_file()):
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            seconds = float(kept["endtime"]) - float(kept["starttime"])
            if Path(output := output_of(path, folder)).exists():
                found[output] = str(kept["rule"]), max(0.0, seconds)
    return found


def in_words(seconds: float) -> str:
    """A duration as one would say it: "about 40 s", "about 4 min", "about 2 h 10 min"."""
    if seconds < 60:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min"
    return f"about {minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


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
