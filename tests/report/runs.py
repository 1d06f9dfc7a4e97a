"""Runs of small tables, and what the report's chapters make of them."""

from pathlib import Path
from types import ModuleType

import pandas as pd

from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.read_table import read_table
from workflow_src.paper.run import Run
from workflow_src.paper.written import Written, write
from workflow_src.report import cases, opening, ran, trust

TEMPLATES = ROOT / "report_templates"
LEVELS = {"opening": "#", "cases": "##", "trust": "##", "ran": "##"}
MODULES: dict[str, ModuleType] = {"opening": opening, "cases": cases, "trust": trust, "ran": ran}


def run_of(folder: Path, *samples: Sample) -> Run:
    """A run of samples, with their plan."""
    write_tables(folder / "tables", *samples)
    write_plan(folder)
    return read_run(folder)


def read_run(folder: Path, *more: Path) -> Run:
    """A run of the tables, the plan and the chapters in a folder, and of more files."""
    texts = sorted((folder / "answers").glob("*.json"))
    return Run([*sorted((folder / "tables").rglob("*.csv")), folder / "plan.csv", *texts, *more])


def chapter(name: str, run: Run, picture: Path | None = None) -> Written:
    """A chapter as its stage writes it."""
    module, level = MODULES[name], LEVELS[name]
    return write(
        name, lambda: module.facts(run), TEMPLATES, [f"report/{name}.j2"], picture, level=level
    )


def write_plan(results: Path) -> None:
    """A plan of the tables' cases; the last is captured for fewer steps."""
    plan = read_table(results / "tables" / "timings.csv", "timings")[list(CASE_COLUMNS)]
    if plan.empty:
        plan = pd.DataFrame([Sample().front])
    plan = plan.drop_duplicates().assign(warmup_steps=5, steps=10, capture_steps=3)
    plan.loc[plan.index[1:], "capture_steps"] = 1
    plan.to_csv(results / "plan.csv", index=False)
