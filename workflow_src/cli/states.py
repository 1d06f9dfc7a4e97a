"""The state of each case's stages, of each study point, and of what else failed."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workflow_src.cli.running import failures, last_failures
from workflow_src.common.case import TABLES
from workflow_src.common.errors import remake
from workflow_src.common.nsys_cli import export_files
from workflow_src.dag.dag import Dag

STAGES = ("benchmark", "capture", "export", "tables")

MESSAGES = {
    "benchmark": "Benchmark {name}",
    "capture": "Capture {name}",
    "export": "Export the capture of {name}",
    "tables": "Tabulate {name}",
}
"""What the rules call the job of each stage (rules/measure.smk, rules/tables.smk)."""


@dataclass(frozen=True)
class Output:
    """What one job makes: a stage of a case, or a point of a study.

    left_out: nothing needs it, because allow_missing leaves its case out. holds: of a folder, the
    files that it must hold.
    """

    stage: str
    name: str
    path: Path
    log: Path
    message: str
    left_out: bool = False
    holds: tuple[str, ...] = ()


@dataclass(frozen=True)
class State:
    """What became of an output, in a word or two, and why it isn't done."""

    output: Output
    word: str
    why: str = ""


@dataclass(frozen=True)
class Known:
    """What is known of the jobs: reasons to run by message, the outputs begun, and when.

    since: when the first snakemake that runs in this folder began; None if none does. reasons are
    None where no dry run tells them.
    """

    reasons: Mapping[str, str] | None
    begun: Mapping[str, float]
    since: float | None


def case_outputs(dag: Dag) -> Iterator[Output]:
    """The outputs of each case, one for each of STAGES."""
    results, logs, joined = Path(dag.results), Path(dag.results, "logs"), dag.cases.to_join()
    for case in dag.plan.case_ids:
        paths = {
            "benchmark": (results / f"benchmark/{case}.json", f"benchmark/{case}.json.log"),
            "capture": (
                results / f"capture/{case}{dag.plan.capture_suffix}",
                f"capture/{case}.log",
            ),
            "export": (results / f"export/{case}", f"export/{case}.log"),
            "tables": (results / f"tables/{case}/{TABLES[0]}.csv", f"tables/{case}.log"),
        }
        for stage, (path, log) in paths.items():
            message = MESSAGES[stage].format(name=case)
            holds = export_files(dag.plan.capture_suffix) if stage == "export" else ()
            yield Output(stage, case, path, logs / log, message, case not in joined, holds)


def point_outputs(dag: Dag) -> Iterator[Output]:
    """The points of each chosen study; `stage` is the study."""
    for study in dag.studies.chosen:
        for point in dag.studies.points(study):
            path = Path(dag.results, "studies", study, f"{point}.json")
            log = Path(dag.results, "logs", "studies", study, f"{point}.log")
            yield Output(study, point, path, log, f"Study {study}: measure {point}")


def ceilings_output(dag: Dag) -> Output:
    """The measurement of the machine's ceilings."""
    path, log = (Path(dag.results, name) for name in ("ceilings.json", "logs/ceilings.json.log"))
    return Output("ceilings", "of this machine", path, log, "Measure the ceilings of this machine")


def others_failed(known: Iterable[Path], rules: Collection[str]) -> Iterator[State]:
    """Of the newest run, the failed jobs of `rules` that make none of the `known` outputs."""
    told = set(map(str, known))
    for rule, outputs, log in last_failures():
        if rule in rules and told.isdisjoint(outputs):
            output = Output(rule, outputs[0], Path(outputs[0]), Path(log), "")
            why = f"{last_line(output.log)} ({log})" if log else "it has no log"
            yield State(output, "failed", why)


def state(output: Output, known: Known) -> State:
    """What became of an output."""
    path = str(output.path)
    if path in known.begun:
        if known.since is not None and known.begun[path] >= known.since:
            return State(output, "running")
        lost = known.reasons is not None and output.message not in known.reasons
        advice = f"; {remake(output.path)}" if lost and not output.path.exists() else ""
        return State(output, "interrupted", f"snakemake ended before it was made{advice}")
    there = output.path.exists()
    if known.reasons is None:
        return _complete(output, "there") if there else _not_made(output)
    if output.message not in known.reasons and (there or not output.left_out):
        return _complete(output)
    return State(output, "stale", known.reasons[output.message]) if there else _not_made(output)


def _not_made(output: Output) -> State:
    if output.log.is_file() and str(output.path) in failures(output.log):
        return State(output, "failed", f"{last_line(output.log)} ({output.log})")
    return State(output, "not yet")


def _complete(output: Output, word: str = "done") -> State:
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
