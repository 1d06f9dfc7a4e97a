"""Say what a run has measured, what is stale or failed and why, and what the next command runs.

Reads only: a dry run of snakemake, and files.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from workflow_src.answers.questions import QUESTIONS
from workflow_src.cli import dry_run, memory
from workflow_src.cli.settings import configured, setting
from workflow_src.cli.states import (
    STAGES,
    Known,
    State,
    holders,
    others_failed,
    outputs_of,
    snakemakes,
    state,
)
from workflow_src.common.arguments import Parser
from workflow_src.common.errors import one_sentence
from workflow_src.dag.dag import Dag, dag_of
from workflow_src.plan import kept
from workflow_src.plan.config import CONFIG
from workflow_src.plan.drift import MEASURE_AGAIN
from workflow_src.plan.kept import by_rule, in_words, records
from workflow_src.plan.progress import MEASURING
from workflow_src.plan.suites import make_plan

FINE = ("done", "there", "not yet", "running")
"""States that the table says all about."""

PARTS = ("benchmark", "capture", "export", "tables", "studies")
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def lines(given: Sequence[str]) -> Iterator[str]:
    """The status of the run in this folder. Raises StageError if its configuration is wrong."""
    dag = dag_of(make_plan(configured(given)))
    outputs = list(outputs_of(dag))
    refused, runs = dry_run.refusal(), snakemakes()
    jobs = [] if refused else dry_run.jobs(given)
    reasons = {path: job.why for job in jobs for path in job.outputs}
    since = min(runs.values(), default=None)
    known = Known(None if refused else reasons, kept.started(), since)
    states = [state(output, known) for output in outputs]
    counts = Counter(job.rule for job in jobs)
    drift = dag.measured.drift()
    yield f"{dag.results}: device {dag.plan.device}, profiler {dag.plan.profiler}"
    yield ""
    yield from table([each for each in states if each.output.stage in STAGES])
    yield ""
    yield f"ceilings: {states[-1].word}"
    yield from studied([each for each in states[:-1] if each.output.stage not in STAGES])
    if not refused:
        ready = len(QUESTIONS) - counts["answer"]
        made = (
            "done" if not counts["report"] else "stale" if Path("report.md").exists() else "not yet"
        )
        yield f"answers: {ready} of {len(QUESTIONS)} up to date; report.md: {made}"
    told = [str(output.path) for output in outputs]
    yield from not_done([*states, *others_failed(told, counts)])
    yield from who_works(runs)
    yield f"environment: {_environment(dag, drift)}"
    yield from memory.what_fits(dag.plan, memory.limit_gib(dag.plan))
    yield disk(Path(dag.results))
    stale = [each.output.path for each in states if each.word == "stale"]
    if refused:
        yield (
            "next: not known, nor what of this is stale: a dry run of snakemake writes into "
            f".snakemake, which isn't possible here ({refused})"
        )
    elif not jobs:
        yield "next: nothing to do"
    elif drift and MEASURING.keys() & counts.keys() and dag.measured.drift(stale):
        yield f"next: measuring is refused, see environment; {MEASURE_AGAIN} measures all again"
    else:
        yield ("left: " if runs else f"next: {shlex.join(dry_run.command(given))} runs ") + to_run(
            jobs
        )


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


def not_done(states: Sequence[State]) -> Iterator[str]:
    """Why outputs aren't done; those of one stage with the same reason on one line."""
    groups = defaultdict(list)
    for found in states:
        if found.word not in FINE and not found.word.startswith("OOM"):
            groups[found.word, found.output.stage, found.why].append(found.output.name)
    for (word, stage, why), names in groups.items():
        which = names[0] if len(names) == 1 else f"of {len(names)}"
        yield f"{word}: {stage} {which}" + (f": {why}" if why else "")


def who_works(runs: Mapping[int, float]) -> Iterator[str]:
    """Who works in this folder and on this machine's devices."""
    if runs:
        yield f"running: snakemake (process {', '.join(map(str, runs))}) in this folder"
    elif kept.is_locked():
        yield "locked: snakemake was killed here (`make unlock`), or runs here on another machine"
    for device, holder in sorted(holders().items()):
        yield f"device: {device} is held by {holder}"


def _environment(dag: Dag, drift: str) -> str:
    """Whether this machine is still what the results were measured on."""
    if dag.plan.settings["cluster"] or dag.plan.settings["mixed_environments"]:
        return "compared after measuring"
    if not any(path.is_file() for path in dag.measured.files()):
        return "nothing is measured yet"
    return drift or "as it was when the results were measured"


def disk(results: Path) -> str:
    """The disk space of a run's results, by stage."""
    sizes = Counter({part: _size(results / part) for part in PARTS})
    parts = [f"{part} {in_bytes(size)}" for part, size in sizes.most_common() if size]
    return f"disk: {in_bytes(_size(results))}" + (f" ({', '.join(parts)})" if parts else "")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def in_bytes(size: float) -> str:
    """A size in the largest unit of which there is one (powers of 1000)."""
    unit = 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {UNITS[unit]}"


def to_run(jobs: Sequence[dry_run.Job]) -> str:
    """How many jobs of which rules there are, and about how long they take.

    Those that measure come first. A job is taken to need what it took before, else the mean of its
    rule.
    """
    before = records()
    usual = by_rule(before.values())
    times = [
        before[job.outputs[0]].seconds if job.outputs[0] in before else usual[job.rule]
        for job in jobs
        if job.outputs[0] in before or job.rule in usual
    ]
    time = in_words(sum(times)) if times else "no times known yet"
    some = f" for the {len(times)} whose times are known" if 0 < len(times) < len(jobs) else ""
    counts = sorted(Counter(j.rule for j in jobs).items(), key=lambda n: (n[0] not in MEASURING, n))
    rules = ", ".join(f"{count} {rule}" for rule, count in counts)
    return f"{len(jobs)} job{'' if len(jobs) == 1 else 's'} ({rules}), {time}{some}"


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
