"""Say what a run has measured, what is stale or unfinished and why, and what runs next.

Changes nothing: a dry run of snakemake, and files.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from workflow_src.answers.questions import QUESTIONS
from workflow_src.cli.of_snakemake import Job, command, configured, planned, setting
from workflow_src.common.arguments import Parser
from workflow_src.common.case import TABLES
from workflow_src.common.errors import one_sentence
from workflow_src.dag.start import Dag, dag_of
from workflow_src.plan.drift import MEASURE_AGAIN
from workflow_src.plan.progress import MEASURING
from workflow_src.plan.suites import make_plan


class State(NamedTuple):
    """What became of an output, and why.

    stage: of a case, a study, "ceilings", or the rule of a job that isn't done.
    """

    stage: str
    name: str
    path: str
    word: str
    why: str = ""


def lines(given: Sequence[str]) -> Iterator[str]:
    """The status of the run in this folder. Raises StageError if its configuration is wrong."""
    dag = dag_of(make_plan(configured(given)))
    jobs = planned(given)
    states = list(states_of(dag, jobs))
    yield f"{dag.plan.results}: device {dag.plan.device}, profiler {dag.plan.profiler}\n"
    yield _counted(states) + "\n"
    rules = Counter(job.rule for job in jobs)
    made = "stale" if Path("report.md").exists() else "not yet"
    ready = len(QUESTIONS) - rules["answer"]
    report = made if rules["report"] else "done"
    yield f"answers: {ready} of {len(QUESTIONS)} up to date; report.md: {report}"
    yield from _not_done(states)
    stale = [Path(each.path) for each in states if each.word == "stale"]
    if not jobs:
        yield "next: nothing to do"
    elif any(job.rule in MEASURING for job in jobs) and (drift := dag.measured.drift(stale)):
        yield f"next: measuring is refused: {drift}; {MEASURE_AGAIN} measures all again"
    else:
        measuring_first = sorted(rules.items(), key=lambda n: (n[0] not in MEASURING, n))
        ahead = [f"{count} {rule}" for rule, count in measuring_first]
        how = ", with your --profile instead of --cores," if dag.plan.settings["cluster"] else ""
        yield f"next: {shlex.join(command(given))}{how} runs {len(jobs)}: {', '.join(ahead)}"


def _counted(states: Sequence[State]) -> str:
    counts = Counter((each.stage, each.word) for each in states)
    stages, words = (list(dict.fromkeys(part)) for part in zip(*counts, strict=True))
    rows = [[stage, *(counts[stage, word] for word in words)] for stage in stages]
    return tabulate(rows, ["", *words], tablefmt="plain")


def states_of(dag: Dag, jobs: Sequence[Job]) -> Iterator[State]:
    """Stages of cases, points of chosen studies, the ceilings, and what else was begun and isn't
    there."""
    ahead = {path: job for job in jobs for path in job.outputs}

    def state(stage: str, name: str, file: str) -> State:
        path = f"{dag.plan.results}/{file}"
        job = ahead.pop(path, None)
        if Path(path).exists():
            return State(stage, name, path, "stale" if job else "done", job.why if job else "")
        word = "unfinished" if job and job.said else "not yet" if job else "not there"
        return State(stage, name, path, word, job.said if job else "")

    for case in dag.plan.case_ids:
        yield state("benchmark", case, f"benchmark/{case}.json")
        yield state("capture", case, f"capture/{case}{dag.plan.capture_suffix}")
        yield state("export", case, f"export/{case}")
        yield state("tables", case, f"tables/{case}/{TABLES[0]}.csv")
    yield state("ceilings", "of this machine", "ceilings.json")
    for study in dag.studies.chosen:
        for point in dag.studies.points(study):
            yield state(f"study {study}", point, f"studies/{study}/{point}.json")
    for path, job in ahead.items():
        if job.said and path == job.outputs[0] and not Path(path).exists():
            yield State(job.rule, path, path, "unfinished", job.said)


def _not_done(states: Sequence[State]) -> Iterator[str]:
    """Those of one stage with the same reason on one line."""
    groups = defaultdict[tuple[str, str, str], list[str]](list)
    for each in states:
        if each.word in ("stale", "unfinished"):
            groups[each.word, each.stage, each.why].append(each.name)
    for (word, stage, why), names in groups.items():
        which = names[0] if len(names) == 1 else f"of {len(names)}"
        yield f"{word}: {stage} {which}" + (f": {why}" if why else "")


def main() -> None:
    """Print the status of the run in this folder."""
    parser = Parser(description=__doc__)
    about = "settings, as snakemake takes them"
    parser.add_argument(
        "--config", type=setting, nargs="*", default=[], metavar="KEY=VALUE", help=about
    )
    given = parser.parse_args()
    with one_sentence():
        print("\n".join(lines(given.config)))


if __name__ == "__main__":
    main()
