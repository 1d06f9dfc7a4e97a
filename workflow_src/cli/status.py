"""Say what a run has measured, what is stale or failed and why, and what the next command runs.

Reads only: a dry run of snakemake, and files.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_src.answers.questions import QUESTIONS
from workflow_src.cli import dry_run, memory, running
from workflow_src.cli.settings import configured, setting
from workflow_src.cli.states import (
    STAGES,
    Known,
    State,
    case_outputs,
    ceilings_output,
    others_failed,
    point_outputs,
    state,
)
from workflow_src.common.arguments import Parser
from workflow_src.common.errors import one_sentence
from workflow_src.dag.dag import Dag, dag_of
from workflow_src.plan import unfinished
from workflow_src.plan.config import CONFIG
from workflow_src.plan.drift import MEASURE_AGAIN
from workflow_src.plan.progress import MEASURING
from workflow_src.plan.suites import make_plan
from workflow_src.plan.times import Record, by_rule, in_words, records

FINE = ("done", "there", "not yet", "running")
"""States that the table says all about."""

PARTS = ("benchmark", "capture", "export", "tables", "studies")
UNITS = ("bytes", "kB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Status:
    """All that is told of a run; `others` failed, and are none of what is measured.

    refused: why Snakemake couldn't tell what it would run; "" if it could.
    """

    dag: Dag
    cases: list[State]
    points: list[State]
    ceilings: State
    others: list[State]
    jobs: Mapping[str, int]
    known: Mapping[str, Record]
    config: tuple[str, ...]
    runs: Mapping[int, float]
    drift: str
    refused: str = ""

    def measured(self) -> list[State]:
        """The states of the cases' stages, of the studies' points and of the ceilings."""
        return [*self.cases, *self.points, self.ceilings]


def status(given: Sequence[str]) -> Status:
    """What became of the run in this folder. Raises StageError if its configuration is wrong."""
    dag = dag_of(make_plan(configured(given)))
    dag.cases.to_join()
    process = dry_run.start(given)
    try:
        points, runs, begun = (
            list(point_outputs(dag)),
            running.snakemakes(Path()),
            unfinished.started(),
        )
        known = records()
    finally:
        planned = dry_run.finish(process)
    reasons = None if planned.refused else planned.reasons
    about = Known(reasons, begun, min(runs.values(), default=None))
    cases = [state(output, about) for output in case_outputs(dag)]
    measured = [state(output, about) for output in points]
    ceilings = state(ceilings_output(dag), about)
    told = [each.output.path for each in (*cases, *measured, ceilings)]
    others = list(others_failed(told, planned.counts))
    rest = (planned.counts, known, tuple(given), runs, dag.environments.drift(), planned.refused)
    return Status(dag, cases, measured, ceilings, others, *rest)


def table(cases: Sequence[State]) -> Iterator[str]:
    """A line per case with the state of each stage."""
    rows = defaultdict(list)
    for found in cases:
        rows[found.output.name].append(found.word)
    lines = [["case", *STAGES], *([name, *words] for name, words in rows.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()


def studied(points: Sequence[State]) -> Iterator[str]:
    """A line per study: how many of its points are in which state."""
    words: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for found in points:
        words[found.output.stage][found.word] += 1
    for study, counts in words.items():
        told = ", ".join(f"{count} {word}" for word, count in counts.most_common())
        yield f"study {study}, {counts.total()} points: {told}"


def reasons(states: Sequence[State]) -> Iterator[str]:
    """Why outputs aren't done; those of one stage with the same reason on one line."""
    groups = defaultdict(list)
    for found in states:
        if found.word not in FINE and not found.word.startswith("OOM"):
            groups[found.word, found.output.stage, found.why].append(found.output.name)
    for (word, stage, why), names in groups.items():
        which = names[0] if len(names) == 1 else f"of {len(names)}"
        yield f"{word}: {stage} {which}" + (f": {why}" if why else "")


def written(found: Status) -> Iterator[str]:
    """What is up to date of the answers and the report."""
    if found.refused:
        return
    ready = len(QUESTIONS) - found.jobs.get("answer", 0)
    there = Path("report.md").exists()
    report = ("stale" if there else "not yet") if found.jobs.get("report") else "done"
    yield f"answers: {ready} of {len(QUESTIONS)} up to date; report.md: {report}"


def who_runs(pids: Collection[int]) -> Iterator[str]:
    """Who works in this folder and on this machine's devices."""
    if pids:
        yield f"running: snakemake (process {', '.join(map(str, pids))}) in this folder"
    elif unfinished.is_locked():
        yield ("locked: snakemake was killed here (`make unlock`), or runs here on another machine")
    for device, holder in sorted(running.holders().items()):
        yield f"device: {device} is held by {holder}"


def environment(found: Status) -> str:
    """Whether this machine is still what the results were measured on."""
    dag = found.dag
    if dag.plan.settings["cluster"] or dag.plan.settings["mixed_environments"]:
        return "environment: compared after measuring"
    if not any(path.is_file() for path in dag.environments.measurements()):
        return "environment: nothing is measured yet"
    return f"environment: {found.drift or 'as it was when the results were measured'}"


def disk(results: Path) -> str:
    """The disk space of a run's results, by stage."""
    sizes = Counter({part: _size(results / part) for part in PARTS})
    total = _size(results)
    parts = [f"{part} {in_bytes(size)}" for part, size in sizes.most_common() if size]
    return f"disk: {in_bytes(total)}" + (f" ({', '.join(parts)})" if parts else "")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def in_bytes(size: float) -> str:
    """A size in the largest unit of which there is one (powers of 1000)."""
    unit = 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {UNITS[unit]}"


def expected(found: Status) -> tuple[float, int]:
    """Seconds that the jobs to run took before or that others of their rule take; how many known.

    A measurement is taken to need what it took before, any other job the mean of its rule.
    """
    usual, left, seconds, jobs = by_rule(found.known.values()), Counter(found.jobs), 0.0, 0
    for each in (each for each in found.measured() if each.word == "stale"):
        record = found.known.get(str(each.output.path))
        if record and left[record.rule]:
            left[record.rule] -= 1
            seconds, jobs = seconds + record.seconds, jobs + 1
    for rule, count in left.items():
        if rule in usual:
            seconds, jobs = seconds + count * usual[rule], jobs + count
    return seconds, jobs


def what_next(found: Status) -> str:
    """What the next command would run, and about how long that takes."""
    total = sum(found.jobs.values())
    if found.refused:
        return (
            "next: not known, nor what of this is stale: a dry run of snakemake writes into "
            f".snakemake, which isn't possible here ({found.refused})"
        )
    if not total:
        return "next: nothing to do"
    seconds, known = expected(found)
    time = f"{in_words(seconds)}" if known else "no times known yet"
    if 0 < known < total:
        time += f" for the {known} whose times are known"
    rules = ", ".join(f"{count} {rule}" for rule, count in found.jobs.items())
    stale = [each.output.path for each in found.measured() if each.word == "stale"]
    if found.drift and MEASURING.keys() & found.jobs.keys() and found.dag.environments.drift(stale):
        return f"next: measuring is refused, see environment; {MEASURE_AGAIN} measures all again"
    jobs = f"{total} job{'' if total == 1 else 's'} ({rules}), {time}"
    if found.runs:
        return f"left: {jobs}"
    return f"next: {shlex.join(dry_run.command(found.config))} runs {jobs}"


def lines(found: Status) -> Iterator[str]:
    """The status of a run as text."""
    dag = found.dag
    yield f"{dag.results}: device {dag.plan.device}, profiler {dag.plan.profiler}"
    yield ""
    yield from table(found.cases)
    yield ""
    yield f"ceilings: {found.ceilings.word}"
    yield from studied(found.points)
    yield from written(found)
    yield from reasons([*found.measured(), *found.others])
    yield from who_runs(found.runs)
    yield environment(found)
    yield from memory.what_fits(dag.plan, memory.limit_gib(dag.plan))
    yield disk(Path(dag.results))
    yield what_next(found)


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
        print("\n".join(lines(status(given.config))))


if __name__ == "__main__":
    main()
