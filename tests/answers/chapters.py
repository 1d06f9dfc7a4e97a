"""Chapters as their stages write them, of small tables or of any folder of a run."""

import importlib
from functools import partial
from pathlib import Path
from types import ModuleType

import pandas as pd

from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.answers.cards.chapter import TEMPLATE
from workflow_src.answers.facts import tables_of
from workflow_src.answers.questions import CARDS, FRONT, QUESTIONS
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.read_table import read_table
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts, Written, write

TEMPLATES = ROOT / "report_templates"
OF_REPORT = ("opening", *FRONT)
CHAPTERS = {
    **{name: (f"answers.{asked.room}.chapter", f"answers/{asked.room}.j2")
       for name, asked in QUESTIONS.items()},
    "cards": ("answers.cards.chapter", TEMPLATE),
    **{name: (f"report.{name}", f"report/{name}.j2") for name in OF_REPORT},
}  # fmt: skip
"""The module and the template of each."""


def module(name: str) -> ModuleType:
    return importlib.import_module(f"workflow_src.{CHAPTERS[name][0]}")


def chapter(name: str, run: Run, picture: Path | None = None) -> Written:
    make = partial(module(name).facts, run)
    level = "#" if name == "opening" else "##"
    return write(name, make, TEMPLATES, [CHAPTERS[name][1]], picture, level=level)


def facts(name: str, folder: Path, *samples: Sample) -> Facts:
    found: Facts = module(name).facts(run_of(name, write_tables(folder, *samples)))
    return found


def run_of(name: str, tables: Path) -> Run:
    """Those tables in a folder that a question, or the cards, read."""
    asked = QUESTIONS.get(name, CARDS)
    return Run([tables / f"{each}.csv" for each in tables_of(asked)])


def read_run(folder: Path, *more: Path) -> Run:
    """The tables, the plan and the chapters in a run's folder, and more files."""
    texts = sorted((folder / "answers").glob("*.json"))
    return Run([*sorted((folder / "tables").rglob("*.csv")), folder / "plan.csv", *texts, *more])


def sampled(folder: Path, *samples: Sample) -> Run:
    """A run of samples, with their plan."""
    write_tables(folder / "tables", *samples)
    write_plan(folder)
    return read_run(folder)


def write_plan(folder: Path) -> None:
    """A plan of the tables' cases; the last is captured for fewer steps."""
    plan = read_table(folder / "tables" / "timings.csv", "timings")[list(CASE_COLUMNS)]
    if plan.empty:
        plan = pd.DataFrame([Sample().front])
    plan = plan.drop_duplicates().assign(warmup_steps=5, steps=10, capture_steps=3)
    plan.loc[plan.index[1:], "capture_steps"] = 1
    plan.to_csv(folder / "plan.csv", index=False)
