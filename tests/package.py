"""Copy the package, edit the copy and compute the hashes of its stages."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_src.answers.questions import FRONT, QUESTIONS
from workflow_src.plan import code
from workflow_src.plan.code import ROOT, stage
from workflow_src.studies.study import STUDIES

STAGES = {
    "plan": "plan.write_plan",
    "benchmark": "measure.benchmark",
    "capture": "measure.capture",
    "ceilings": "measure.ceilings",
    "export": "captures.export_case",
    "case_tables": "tables.case_tables",
    "findings": "tables.findings",
    "environment": "tables.environment",
    "join": "tables.join",
    "ceilings table": "tables.ceilings",
    "remedies": "tables.remedies",
    **{f"answer {each}": f"answers.{asked.room}.chapter" for each, asked in QUESTIONS.items()},
    "cards": "answers.cards.chapter",
    "opening": "report.opening",
    **{name: f"report.{name}" for name in FRONT},
    "report": "report.report",
    "timeline": "timeline.picture",
    **{f"{study} point": f"studies.{study}.measure" for study in STUDIES},
    "tables of studies": "studies.join_points",
    **{f"{study} table and section": f"studies.{study}.chapter" for study in STUDIES},
}
"""Every stage that a rule runs, with its module."""

MEASURING = {"benchmark", "capture", "ceilings", *(f"{study} point" for study in STUDIES)}


def copy_package(folder: Path) -> Path:
    """Copy the package into `folder` and return `folder`."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "workflow_src", folder / "workflow_src", ignore=ignored)
    return folder


def edit(root: Path, file: str, old: str, new: str) -> None:
    """Replace `old`, which must occur, by `new` in a file of the package."""
    path = root / "workflow_src" / file
    text = path.read_text()
    assert old in text, f"{old!r} is not in {file}"
    path.write_text(text.replace(old, new))


def forget() -> None:
    """Have files read again: a process of snakemake reads each once."""
    for cached in (code.stage, code._named, code._code):
        cached.cache_clear()


def by_time(read: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a file, which reads it again if it has been written since."""
    known: dict[tuple[object, ...], Any] = {}

    def reading(path: Path, *more: object) -> Any:
        key = path, path.stat().st_mtime_ns, *more
        if key not in known:
            known[key] = read(path, *more)
        return known[key]

    return reading


def hashes(root: Path) -> dict[str, str]:
    """The current hash of every stage of the package under `root`."""
    code.stage.cache_clear()
    return {name: stage(f"workflow_src.{module}", root) for name, module in STAGES.items()}


def changed(root: Path, before: dict[str, str]) -> set[str]:
    """The stages whose hash differs from `before`."""
    after = hashes(root)
    return {name for name in STAGES if before[name] != after[name]}
