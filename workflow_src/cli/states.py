"""What became of each measured output, what failed, and who works in a project's folder."""

import json
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workflow_src.common.case import TABLES
from workflow_src.common.device_locks import FOLDER, MACHINE, VARIABLE, holder_in, temporary_folder
from workflow_src.common.errors import StageError, remake
from workflow_src.common.nsys_cli import export_files
from workflow_src.dag.dag import Dag
from workflow_src.plan import kept

STAGES = ("benchmark", "capture", "export", "tables")
RUNS = Path(".snakemake", "log")
PROCESSES = Path("/proc")

ERROR = re.compile(
    r"^ *Error in rule (\w+):\n(?: +\S.*\n)*? +output: (.*)(?:\n +log: (\S+))?", re.MULTILINE
)


class Output(NamedTuple):
    """What one job makes: a stage of a case, a point of a study (its `stage`), or the ceilings.

    left_out: nothing needs it, because allow_missing leaves its case out. holds: of a folder, the
    files that it must hold.
    """

    stage: str
    name: str
    path: Path
    log: Path
    left_out: bool = False
    holds: tuple[str, ...] = ()


class State(NamedTuple):
    """What became of an output, in a word or two, and why it isn't done."""

    output: Output
    word: str
    why: str = ""


class Known(NamedTuple):
    """What is known of the jobs: why each output would be made, the outputs begun, and when.

    since: when the first snakemake that runs in this folder began; None if none does. reasons are
    None where no dry run tells them.
    """

    reasons: Mapping[str, str] | None
    begun: Mapping[str, float]
    since: float | None


def outputs_of(dag: Dag) -> Iterator[Output]:
    """The stages of each case, the points of each chosen study, and the machine's ceilings."""
    results, logs, joined = Path(dag.results), Path(dag.results, "logs"), dag.measured.to_join()
    for case in dag.plan.case_ids:
        files = {
            "benchmark": f"{case}.json",
            "capture": f"{case}{dag.plan.capture_suffix}",
            "export": case,
            "tables": f"{case}/{TABLES[0]}.csv",
        }
        for stage, file in files.items():
            log = logs / stage / (f"{file}.log" if stage == "benchmark" else f"{case}.log")
            holds = export_files(dag.plan.capture_suffix) if stage == "export" else ()
            yield Output(stage, case, results / stage / file, log, case not in joined, holds)
    for study in dag.studies.chosen:
        for point in dag.studies.points(study):
            path = Path("studies", study, point)
            yield Output(study, point, results / f"{path}.json", logs / f"{path}.log")
    ceilings = "ceilings.json"
    yield Output("ceilings", "of this machine", results / ceilings, logs / f"{ceilings}.log")


def state(output: Output, known: Known) -> State:
    """What became of an output."""
    path, there = str(output.path), output.path.exists()
    if path in known.begun:
        if known.since is not None and known.begun[path] >= known.since:
            return State(output, "running")
        lost = known.reasons is not None and path not in known.reasons and not there
        advice = f"; {remake(output.path)}" if lost else ""
        return State(output, "interrupted", f"snakemake ended before it was made{advice}")
    if known.reasons is None:
        return _complete(output, "there") if there else _not_made(output)
    if path not in known.reasons and (there or not output.left_out):
        return _complete(output, "done")
    return State(output, "stale", known.reasons[path]) if there else _not_made(output)


def _not_made(output: Output) -> State:
    if output.log.is_file() and str(output.path) in failed_with(output.log):
        return State(output, "failed", f"{last_line(output.log)} ({output.log})")
    return State(output, "not yet")


def _complete(output: Output, word: str) -> State:
    if not output.path.exists():
        return State(output, "deleted", "nothing needs it now")
    lost = [name for name in output.holds if not (output.path / name).is_file()]
    if lost:
        return State(output, "damaged", f"{', '.join(lost)} deleted; {remake(output.path)}")
    if output.path.suffix != ".json":
        return State(output, word)
    try:
        result = json.loads(output.path.read_text(encoding="utf-8"))
        phases = result["phases"] if output.stage == "benchmark" else {}
        out = [name for name, row in phases.items() if row["status"] == "oom"]
        return State(output, f"OOM ({', '.join(out)})" if out else word)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return State(output, "damaged", remake(output.path))


def last_line(log: Path) -> str:
    """The last line of a log that says anything."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return str(error.strerror)
    return next(
        (line.strip()[:300] for line in reversed(lines) if line.strip()), "its log is empty"
    )


def others_failed(known: Collection[str], rules: Collection[str]) -> Iterator[State]:
    """Of the newest run, the failed jobs of `rules` that make none of the `known` outputs."""
    for rule, made, log in _failed_in(max(_runs())[1]) if _runs() else ():
        outputs = made.split(", ")
        if rule in rules and not set(outputs).intersection(known):
            output = Output(rule, outputs[0], Path(outputs[0]), Path(log))
            yield State(output, "failed", f"{last_line(output.log)} ({log})" if log else "no log")


def failed_with(log: Path) -> set[str]:
    """Outputs whose jobs failed in the run of snakemake that wrote a job's log."""
    after = [run for run in _runs() if run[0] >= log.stat().st_mtime]
    failed = _failed_in(min(after)[1]) if after else ()
    return {output for _, made, _ in failed for output in made.split(", ")}


def _runs() -> list[tuple[float, Path]]:
    """The logs of snakemake's runs, and when each was last written."""
    return [(path.stat().st_mtime, path) for path in RUNS.glob("*.log")]


@cache
def _failed_in(run: Path) -> tuple[tuple[str, str, str], ...]:
    """Of each job that failed in a run, once: its rule, its outputs, and its log or ""."""
    found = ERROR.findall(run.read_text(encoding="utf-8", errors="replace"))
    return tuple(dict.fromkeys(found))


def snakemakes() -> dict[int, float]:
    """The snakemakes of this machine that run jobs in this folder: process, and time of start.

    None without Snakemake's lock, which those that only tell something don't take.
    """
    found = {}
    for process in PROCESSES.glob("[0-9]*") if kept.is_locked() else ():
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")[:3]
            named = any(Path(word).name == "snakemake" for word in words)
            if named and (process / "cwd").samefile(Path()) and int(process.name) != os.getpid():
                found[int(process.name)] = _began(process)
    return dict(sorted(found.items()))


def _began(process: Path) -> float:
    """When a process began (proc(5)), in seconds since the epoch."""
    fields = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    uptime = float((PROCESSES / "uptime").read_text(encoding="utf-8").split()[0])
    return time.time() - uptime + int(fields.split()[19]) / os.sysconf("SC_CLK_TCK")


def holders() -> dict[str, str]:
    """Who holds each locked device of this machine, and for what, by the device's name."""
    own = os.environ.get(VARIABLE)
    places = [Path(own)] if own else list(MACHINE)
    with suppress(StageError):
        places += [] if own else [temporary_folder()]
    locks = (PROCESSES / "locks").read_text(encoding="utf-8")
    found = {}
    for path in (path for place in places for path in (place / FOLDER).glob("*.lock")):
        with suppress(OSError):
            # A killed process leaves its name in the file, and no lock (proc(5)).
            if (holder := holder_in(path)) and f":{path.lstat().st_ino} " in locks:
                found[path.stem] = holder
    return found
