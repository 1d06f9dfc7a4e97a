"""Say what a run has measured, what is stale or failed and why, and what the next command runs.

Changes nothing: a dry run of snakemake, and files.
"""

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from workflow_src.answers.questions import QUESTIONS
from workflow_src.cli.of_snakemake import Job, command, configured, planned, setting
from workflow_src.common.arguments import Parser
from workflow_src.common.case import TABLES
from workflow_src.common.errors import one_sentence, remake
from workflow_src.dag.start import Dag, dag_of
from workflow_src.plan import kept
from workflow_src.plan.config import CONFIG
from workflow_src.plan.drift import MEASURE_AGAIN
from workflow_src.plan.progress import MEASURING
from workflow_src.plan.suites import make_plan

STAGES = ("benchmark", "capture", "export", "tables")
RUNS = Path(".snakemake", "log")

ERROR = re.compile(
    r"^ *Error in rule (\w+):\n(?: +\S.*\n)*? +output: (.*)(?:\n +log: (\S+))?", re.MULTILINE
)

TOLD = ("stale", "failed", "damaged", "interrupted")
"""States of which it is said why."""


class State(NamedTuple):
    """What became of an output, in a word or two, and why.

    stage: of a case, else a study, or "ceilings". name: of the case or the point.
    """

    stage: str
    name: str
    path: str
    word: str
    why: str = ""


def lines(given: Sequence[str]) -> Iterator[str]:
    """The status of the run in this folder. Raises StageError if its configuration is wrong."""
    dag = dag_of(make_plan(configured(given)))
    jobs, failed = planned(given), failures()
    states = list(states_of(dag, jobs, failed))
    yield f"{dag.plan.results}: device {dag.plan.device}, profiler {dag.plan.profiler}\n"
    yield from _counted(states)
    rules = Counter(job.rule for job in jobs)
    made = "stale" if Path("report.md").exists() else "not yet"
    ready = len(QUESTIONS) - rules["answer"]
    report = made if rules["report"] else "done"
    yield f"answers: {ready} of {len(QUESTIONS)} up to date; report.md: {report}"
    yield from _not_done(states)
    known = {each.path for each in states}
    for job in jobs:
        if not known.intersection(job.outputs) and job.outputs[0] in failed:
            yield f"failed: {job.rule} {job.outputs[0]}: {failed[job.outputs[0]]}"
    if kept.is_locked():
        yield "locked: snakemake runs in this folder, or was killed in it (then `make unlock`)"
    yield from _ahead(dag, states, jobs, given)


def _counted(states: Sequence[State]) -> Iterator[str]:
    """The stages of each case as a table, and how many of the rest are in which state."""
    rows = defaultdict[str, list[str]](list)
    others = defaultdict[str, Counter[str]](Counter)
    for each in states:
        if each.stage in STAGES:
            rows[each.name].append(each.word)
        else:
            others[each.stage][each.word] += 1
    cells = [[name, *words] for name, words in rows.items()]
    yield tabulate(cells, ["case", *STAGES], tablefmt="plain", disable_numparse=True) + "\n"
    for stage, words in others.items():
        yield f"{stage}: " + ", ".join(f"{count} {word}" for word, count in words.most_common())


def _ahead(
    dag: Dag, states: Sequence[State], jobs: Sequence[Job], given: Sequence[str]
) -> Iterator[str]:
    """Whether this machine is still what the results were measured on, and what comes next."""
    drift, settings = dag.measured.drift(), dag.plan.settings
    if settings["cluster"] or settings["mixed_environments"]:
        yield "environment: compared after measuring"
    elif not any(path.is_file() for path in dag.measured.files()):
        yield "environment: nothing is measured yet"
    else:
        yield f"environment: {drift or 'as it was when the results were measured'}"
    stale = [Path(each.path) for each in states if each.word == "stale"]
    if not jobs:
        yield "next: nothing to do"
    elif any(job.rule in MEASURING for job in jobs) and dag.measured.drift(stale):
        yield f"next: measuring is refused, see environment; {MEASURE_AGAIN} measures all again"
    else:
        how = ", with your --profile instead of --cores," if settings["cluster"] else ""
        yield f"next: {shlex.join(command(given))}{how} runs {to_run(jobs)}"


def states_of(dag: Dag, jobs: Sequence[Job], failed: Mapping[str, str]) -> Iterator[State]:
    """The stages of each case, the points of each chosen study, and the machine's ceilings."""
    reasons = {path: job.why for job in jobs for path in job.outputs}
    begun, locked = kept.started(), kept.is_locked()

    def state(stage: str, name: str, file: str) -> State:
        path = f"{dag.plan.results}/{file}"
        if path in begun:
            if locked:
                return State(stage, name, path, "running")
            again = "" if path in reasons else f"; {remake(Path(path))}"
            why = f"snakemake ended before it was made{again}"
            return State(stage, name, path, "interrupted", why)
        if not Path(path).exists():
            if path in failed:
                return State(stage, name, path, "failed", failed[path])
            return State(stage, name, path, "not yet" if path in reasons else "not there")
        if path in reasons:
            return State(stage, name, path, "stale", reasons[path])
        return State(stage, name, path, *_whole(Path(path), stage))

    for case in dag.plan.case_ids:
        yield state("benchmark", case, f"benchmark/{case}.json")
        yield state("capture", case, f"capture/{case}{dag.plan.capture_suffix}")
        yield state("export", case, f"export/{case}")
        yield state("tables", case, f"tables/{case}/{TABLES[0]}.csv")
    yield state("ceilings", "of this machine", "ceilings.json")
    for study in dag.studies.chosen:
        for point in dag.studies.points(study):
            yield state(f"study {study}", point, f"studies/{study}/{point}.json")


def _whole(path: Path, stage: str) -> tuple[str, str]:
    """The state of an output that is up to date, and what to do if it can't be read."""
    if path.suffix == ".json":
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            phases = result["phases"] if stage == "benchmark" else {}
            out = [name for name, row in phases.items() if row["status"] == "oom"]
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return "damaged", remake(path)
        if out:
            return f"OOM ({', '.join(out)})", ""
    return "done", ""


def failures() -> dict[str, str]:
    """By output, how the log of the job ends that failed to make it the last time, and where."""
    found = dict[str, str]()
    for run in sorted(RUNS.glob("*.log"), key=lambda path: path.stat().st_mtime):
        for _, outputs, file in ERROR.findall(run.read_text(encoding="utf-8", errors="replace")):
            log = Path(file)
            # Of one that was tried again, the last run tells.
            if file and log.is_file() and log.stat().st_mtime <= run.stat().st_mtime:
                said = log.read_text(encoding="utf-8", errors="replace").split("\n")
                last = next((line.strip()[:300] for line in reversed(said) if line.strip()), "")
                found |= dict.fromkeys(outputs.split(", "), f"{last or 'nothing said'} ({file})")
    return found


def _not_done(states: Sequence[State]) -> Iterator[str]:
    """Why outputs aren't done; those of one stage with the same reason on one line."""
    groups = defaultdict[tuple[str, str, str], list[str]](list)
    for each in states:
        if each.word in TOLD:
            groups[each.word, each.stage, each.why].append(each.name)
    for (word, stage, why), names in groups.items():
        which = names[0] if len(names) == 1 else f"of {len(names)}"
        yield f"{word}: {stage} {which}" + (f": {why}" if why else "")


def to_run(jobs: Sequence[Job]) -> str:
    """How many jobs of which rules, those that measure first."""
    counts = sorted(Counter(j.rule for j in jobs).items(), key=lambda n: (n[0] not in MEASURING, n))
    rules = ", ".join(f"{count} {rule}" for rule, count in counts)
    return f"{len(jobs)} job{'' if len(jobs) == 1 else 's'} ({rules})"


def main() -> None:
    """Print the status of the run in this folder."""
    parser = Parser(description=__doc__)
    about = "settings, as snakemake takes them"
    parser.add_argument(
        "--config", type=setting, nargs="*", default=[], metavar="KEY=VALUE", help=about
    )
    given = parser.parse_args()
    if not CONFIG.is_file():
        parser.error(f"there is no {CONFIG} here; run it in the project's folder")
    with one_sentence():
        print("\n".join(lines(given.config)))


if __name__ == "__main__":
    main()
