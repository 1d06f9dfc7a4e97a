"""Whether any run renders: random parts of the published run, answered and shown in every form.

Each with parts of the studies' tables, written as sections and drawn.

    python -m benchmarks.any_subset --runs 1000 --processes 16

Prints how many ended in a traceback, or said what no text may (tests/answers/test_any_subset.py),
with the seed of each.
"""

import argparse
import multiprocessing
import traceback
from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.answers import chapters
from tests.answers.subsets import ROOT, Tables, subset, written
from tests.answers.test_any_subset import check
from tests.report import runs
from tests.studies import chapters as studies
from tests.studies import subsets as study_subsets
from workflow_src.answers.cards.chapter import TEMPLATE, facts
from workflow_src.answers.questions import QUESTIONS
from workflow_src.paper.run import Run
from workflow_src.paper.written import Written, write

TEMPLATES = ROOT / "report_templates"


def tried(seed: int) -> tuple[int, dict[str, str]]:
    """What went wrong with a subset, by part; and the verdict of each question, as "(a)"."""
    tables, found = subset(seed), {}
    parts = {f"({question})": partial(_answer, question, tables) for question in QUESTIONS}
    parts |= {f"{name} chapter": partial(_front, name, tables) for name in runs.MODULES}
    parts["cards"] = partial(_cards, tables)
    parts |= {f"study {name}": partial(_study, name, seed) for name in studies.WRITTEN}
    for name, part in parts.items():
        try:
            found[name] = part()
        except Exception:
            found[name] = f"FAILED {traceback.format_exc(limit=-3)}"
    return seed, found


def _answer(question: str, tables: Tables) -> str:
    with TemporaryDirectory() as folder:
        written(tables, Path(folder))
        return _checked(chapters.chapter(question, Path(folder), Path(folder) / "figure.svg"))


def _checked(made: Written) -> str:
    assert made.verdict != "failed", made.markdown["section"]
    for text in made.markdown.values():
        check(text)
    return made.verdict


def _front(name: str, tables: Tables) -> str:
    with TemporaryDirectory() as folder:
        written(tables, Path(folder) / "tables")
        runs.write_plan(Path(folder))
        return _checked(runs.chapter(name, runs.read_run(Path(folder)), Path(folder) / "o.svg"))


def _cards(tables: Tables) -> str:
    with TemporaryDirectory() as folder:
        written(tables, Path(folder))
        run = Run.of(Path(folder))
        return _checked(write("cards", lambda: facts(run), TEMPLATES, [TEMPLATE]))


def _study(name: str, seed: int) -> str:
    run = studies.run_of(name, study_subsets.subset(seed, name))
    with TemporaryDirectory() as folder:
        return _checked(studies.chapter(name, run, Path(folder) / "figure.svg"))


def main() -> None:
    """Try many subsets and count what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.runs)
    verdicts: dict[str, Counter[str]] = {}
    failures = []
    with multiprocessing.Pool(given.processes) as pool:
        for seed, found in pool.imap_unordered(tried, seeds):
            for name, said in found.items():
                failures += [f"{seed} {name}: {said}"] if said.startswith("FAILED") else []
                verdicts.setdefault(name, Counter())[said[:30].split(" ")[0]] += 1
    for name, counts in sorted(verdicts.items()):
        print(name, ", ".join(f"{word} {count}" for word, count in counts.most_common()))
    print("\n".join(failures[:20]))
    print(f"{len({line.split()[0] for line in failures})} of {given.runs} runs failed")


if __name__ == "__main__":
    main()
