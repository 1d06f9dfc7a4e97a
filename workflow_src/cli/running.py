"""What runs in a project's folder, and who holds the devices of this machine; changes nothing."""

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workflow_src.common.device_locks import FOLDER, MACHINE, VARIABLE, holder_in, temporary_folder
from workflow_src.common.errors import StageError

RUNS = Path(".snakemake", "log")
PROCESSES = Path("/proc")
IDLE = {
    *("--dry-run", "--dryrun", "--unlock", "--lint", "--report", "--touch", "-t", "--archive"),
    *("--summary", "-S", "--detailed-summary", "-D", "--dag", "--rulegraph", "--filegraph"),
    *("--d3dag", "--list", "--list-rules", "-l", "--list-target-rules", "--lt", "--list-changes"),
    *("--lc", "--list-input-changes", "--li", "--list-params-changes", "--lp", "--list-untracked"),
    *("--lu", "--list-code-changes", "--cleanup-metadata", "--cm", "--cleanup-shadow"),
    *("--delete-all-output", "--delete-temp-output", "--containerize", "--export-cwl"),
    *("--generate-unit-tests", "--print-compilation", "--version", "-v", "--help", "-h"),
}
"""Options with which snakemake runs no job."""

DRY = re.compile(r"-[aFfkpqt]*n[a-zA-Z]*")
"""-n, alone or with other short options that take no value, as in -np."""

ERROR = re.compile(
    r"^ *Error in rule (\w+):\n(?: +\S.*\n)*? +output: (.*)(?:\n +log: (\S+))?", re.MULTILINE
)


class Failure(NamedTuple):
    """A job that failed: its rule, its outputs and its log, "" if it has none."""

    rule: str
    outputs: tuple[str, ...]
    log: str


def snakemakes(folder: Path) -> dict[int, float]:
    """The snakemake processes of this machine that run jobs in `folder`: id, and time of start."""
    found = {}
    for process in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if runs_jobs(words) and (process / "cwd").samefile(folder):
                found[int(process.name)] = _began(process)
    return dict(sorted(found.items()))


def runs_jobs(words: Sequence[str]) -> bool:
    """Whether a command is a snakemake that runs jobs, and doesn't only tell about them."""
    options = {word.partition("=")[0] for word in words}
    idle = not IDLE.isdisjoint(options) or any(map(DRY.fullmatch, words))
    return any(Path(word).name == "snakemake" for word in words[:3]) and not idle


def _began(process: Path) -> float:
    """When a process began (proc(5)), in seconds since the epoch."""
    fields = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    uptime = float((PROCESSES / "uptime").read_text(encoding="utf-8").split()[0])
    return time.time() - uptime + int(fields.split()[19]) / os.sysconf("SC_CLK_TCK")


def failures(log: Path, runs: Path = RUNS) -> set[str]:
    """Outputs whose jobs failed in the run of snakemake that wrote a job's log."""
    logs = [(path.stat().st_mtime, path) for path in runs.glob("*.log")]
    after = [found for found in logs if found[0] >= log.stat().st_mtime]
    failed = _failed_in(min(after)[1]) if after else ()
    return {output for failure in failed for output in failure.outputs}


def last_failures(runs: Path = RUNS) -> tuple[Failure, ...]:
    """The jobs that failed in the newest run of snakemake, each once."""
    logs = [(path.stat().st_mtime, path) for path in runs.glob("*.log")]
    return _failed_in(max(logs)[1]) if logs else ()


@cache
def _failed_in(run: Path) -> tuple[Failure, ...]:
    text = run.read_text(encoding="utf-8", errors="replace")
    found = [Failure(rule, tuple(made.split(", ")), log) for rule, made, log in ERROR.findall(text)]
    return tuple(dict.fromkeys(found))


def holders() -> dict[str, str]:
    """Who holds each locked device of this machine, and for what, by the device's name."""
    own = os.environ.get(VARIABLE)
    places = [Path(own)] if own else list(MACHINE)
    with suppress(StageError):
        places += [] if own else [temporary_folder()]
    found = {}
    for path in (path for place in places for path in (place / FOLDER).glob("*.lock")):
        with suppress(OSError):
            if (holder := holder_in(path)) and _is_held(path):
                found[path.stem] = holder
    return found


def _is_held(path: Path) -> bool:
    """Whether a process holds the lock: a killed one leaves its name in the file (proc(5))."""
    return f":{path.lstat().st_ino} " in (PROCESSES / "locks").read_text(encoding="utf-8")
