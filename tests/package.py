"""Copy the package, edit the copy and compute the fingerprints of its stages."""

import ast
import shutil
from pathlib import Path

from tests.studies.chapters import WRITTEN
from workflow_src.answers.questions import FRONT, QUESTIONS
from workflow_src.plan.code import Code, code_under
from workflow_src.plan.fingerprint import ROOT, combined, digests, fingerprint, reached
from workflow_src.plan.reader import Ref
from workflow_src.studies.study import STUDIES

STAGES = {
    "plan": "plan.write_plan",
    "benchmark": "measure.benchmark",
    "benchmark in processes": "measure.benchmark_processes",
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
    "timeline": "timeline.make",
    **{f"{study} point": f"studies.{study}.measure" for study in STUDIES},
    **{f"{study} table": f"studies.{study}.analyze" for study in STUDIES},
    **{f"{study} section": f"studies.{study}.chapter" for study in WRITTEN},
}
"""Every stage that a rule runs, with its module."""

BENCHMARKS = {"benchmark", "benchmark in processes"}
MEASURING = {*BENCHMARKS, "capture", "ceilings", *(f"{study} point" for study in STUDIES)}


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


def fingerprints(root: Path) -> dict[str, str]:
    """The current fingerprint of every stage of the package under `root`."""
    code_under.cache_clear()
    fingerprint.cache_clear()
    return {
        stage: fingerprint(f"workflow_src.{module}", root=root) for stage, module in STAGES.items()
    }


def read_again(code: Code, module: str) -> Code:
    """`code` with nothing known of one module, whose file has changed."""
    changed = Code(code.root)
    changed._modules = {name: each for name, each in code._modules.items() if name != module}
    changed._effects = {name: each for name, each in code._effects.items() if name != module}
    for known, kept in (
        (code._parts, changed._parts),
        (code._references, changed._references),
        (code.rounds[0], changed.rounds[0]),
    ):
        kept.update({r: each for r, each in known.items() if r.module not in ("", module)})
    return changed


def hash_of(entry: Ref, code: Code) -> str:
    return combined(digests(reached(entry, code), code), entry)


def changed_by(module: str, code: Code, before: dict[str, str]) -> set[str]:
    """As `changed`, where only a module of the package that was read as `code` was edited."""
    again = read_again(code, module)
    runs = {stage: Ref("run", f"workflow_src.{name}") for stage, name in STAGES.items()}
    return {stage for stage, run in runs.items() if hash_of(run, again) != before[stage]}


def changed(root: Path, before: dict[str, str]) -> set[str]:
    """The stages whose fingerprint differs from `before`."""
    after = fingerprints(root)
    return {stage for stage in STAGES if before[stage] != after[stage]}


def move(root: Path, old: str, new: str) -> None:
    """Move a module of the package and update all imports of it."""
    source, target = (root / (name.replace(".", "/") + ".py") for name in (old, new))
    target.parent.mkdir(exist_ok=True)
    (target.parent / "__init__.py").touch()
    source.rename(target)
    for path in (root / "workflow_src").rglob("*.py"):
        text = path.read_text()
        old_parent, old_name = old.rsplit(".", 1)
        new_parent, new_name = new.rsplit(".", 1)
        whole = f"from {old_parent} import {old_name}\n"
        moved = text.replace(whole, f"from {new_parent} import {new_name} as {old_name}\n")
        moved = moved.replace(old, new)
        if moved != text:
            ast.parse(moved)
            path.write_text(moved)
