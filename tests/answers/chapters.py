"""What chapters that answer questions make of small tables, or of any folder of tables."""

import importlib
from functools import partial
from pathlib import Path

from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.facts import tables_of
from workflow_src.answers.questions import QUESTIONS
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts, Written, write

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = ROOT / "report_templates"


def run_of(question: str, folder: Path) -> Run:
    return Run([folder / f"{name}.csv" for name in tables_of(QUESTIONS[question])])


def facts(question: str, folder: Path, *samples: Sample) -> Facts:
    return facts_of(question, write_tables(folder, *samples))


def facts_of(question: str, folder: Path) -> Facts:
    room = f"workflow_src.answers.{QUESTIONS[question].room}"
    found: Facts = importlib.import_module(f"{room}.chapter").facts(run_of(question, folder))
    return found


def chapter(question: str, folder: Path, picture: Path | None = None) -> Written:
    room = QUESTIONS[question].room
    module = importlib.import_module(f"workflow_src.answers.{room}.chapter")
    make = partial(module.facts, run_of(question, folder))
    return write(question, make, TEMPLATES, [f"answers/{room}.j2"], picture)
