"""Write a report from tables by the functions that the rules' commands call."""

import importlib
from pathlib import Path

from tests.answers.chapters import OTHERS, WRITTEN, chapter
from tests.report import runs
from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.answers import cards, stage
from workflow_src.answers.answer import answer
from workflow_src.answers.questions import CARDS, QUESTIONS
from workflow_src.answers.tables import Tables
from workflow_src.report import report

TEMPLATES = ROOT / "report_templates"
SETTINGS = ("suite=small", "memory_limit_gib=32", "studies=[mlp, levers]", "tag=mine")


def write_parts(results: Path, drawn: bool = True) -> None:
    """Write the answers, the cards and the figures of results/tables; `drawn`: no blank ones."""
    tables = results / "tables"
    for question in WRITTEN:
        picture = results / "figures" / f"answer_{question}.svg" if drawn else None
        chapter(question, tables, picture).write(results / "answers", TEMPLATES)
    for question in OTHERS:
        asked = QUESTIONS[question]
        room = f"workflow_src.answers.{asked.room}"
        result = importlib.import_module(f"{room}.result").result
        headline = importlib.import_module(f"{room}.headline").headline
        texts = answer(question, result, headline).texts(stage.read(tables, question), TEMPLATES)
        texts.write(results / "answers", question)
    written = cards.cards(Tables.read(tables, CARDS.tables, CARDS.optional), TEMPLATES)
    written.write(results / "answers", "cards")
    for name in runs.MODULES:
        picture = results / "figures" / f"{name}.svg" if drawn and name == "opening" else None
        run = runs.read_run(results)
        runs.chapter(name, run, picture).write(results / "answers", TEMPLATES)


def write_report(folder: Path, *samples: Sample, drawn: bool = True) -> tuple[str, str]:
    """Write the report of samples; report.md with the appendix, and report.html."""
    results = folder / "results" / "mine"
    write_tables(results / "tables", *samples)
    runs.write_plan(results)
    write_parts(results, drawn)
    return assemble(folder)


def assemble(folder: Path, sections: tuple[Path, ...] = ()) -> tuple[str, str]:
    """Write the report from its parts; report.md with the appendix, and report.html."""
    results = folder / "results" / "mine"
    given = [f"--{part}={results / part}" for part in ("tables", "answers")]
    given += [f"--templates={TEMPLATES}", f"--plan={results / 'plan.csv'}"]
    given += ["--suite=small", "--tag=mine", "--changed-settings", *SETTINGS]
    given += ["--sections", *map(str, sections)] if sections else []
    given += [f"--markdown={folder / 'report.md'}", f"--html={folder / 'report.html'}"]
    report.main([*given, f"--appendix={results / 'appendix.md'}"])
    whole = (folder / "report.md").read_text() + (results / "appendix.md").read_text()
    return whole, (folder / "report.html").read_text()
