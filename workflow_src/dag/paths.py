"""The grammar of paths: wildcards, folders, templates, and what compares."""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workflow_src.common.errors import ConfigError, one_of
from workflow_src.plan.suites import Plan

TEMPLATES = Path("report_templates")

ROOT_FILES = ("report.md", "report.html")
"""The only files that all runs share."""

PAGE = [f"{TEMPLATES}/page.{kind}" for kind in ("html.j2", "css", "js")]
"""The templates of every HTML page."""

CASE_PATTERN = r"(?!studies/)[A-Za-z0-9_.=+-]+"
"""A wildcard constraint of ids of cases; tables/studies/ is of none."""

CHAPTER = (".md", ".html", ".appendix.md", ".appendix.html", ".json")
"""The ends of a chapter's files."""

READ = ("tables/*.csv", "*.csv", "benchmark/*.json")
"""What a comparison reads of a run, or of a capture of another program."""

Wildcards = Any
"""Snakemake's; which ones exist depends on the rule."""


def known(key: str, value: str, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`. Raises ConfigError, which lists them, if not."""
    names = list(allowed)
    if value not in names:
        raise ConfigError(one_of(key, value, names))
    return value


def tables_of(names: Iterable[str]) -> list[str]:
    """Joined tables, with {tag}."""
    return [f"results/{{tag}}/tables/{name}.csv" for name in names]


def chapter_templates(*own: str) -> list[str]:
    """The templates of a chapter: its `own`, and what stands around each."""
    around = sorted(TEMPLATES.glob("chapter.*"))
    return [*(f"{TEMPLATES}/{name}.j2" for name in own), *map(str, around)]


def made(plan: Plan, name: str) -> list[str]:
    """A joined table, if it's there or the rule of its name may make it: older runs lack some."""
    table = f"{plan.results}/tables/{name}.csv"
    return [table] if measures(name) or Path(table).is_file() else []


def measures(rule: str) -> bool:
    """Whether this call of snakemake may run a rule, by --allowed-rules."""
    options = [word.partition("=")[0] for word in sys.argv]
    return "--allowed-rules" not in options or rule in sys.argv


def input_folder(wildcards: Wildcards, input: Sequence[str]) -> str:
    """A param: the folder of a rule's first input."""
    return str(Path(input[0]).parent)


def output_folder(wildcards: Wildcards, output: Sequence[str]) -> str:
    """A param: the folder of a rule's outputs."""
    return str(Path(output[0]).parent)


def compared_runs(wildcards: Wildcards) -> list[str]:
    """A hash of READ of each of two runs."""
    found = []
    for run in (Path(wildcards.run_a), Path(wildcards.run_b)):
        digest = hashlib.sha256()
        for path in sorted(path for part in READ for path in run.glob(part) if path.is_file()):
            digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
        found.append(digest.hexdigest()[:16])
    return found


def compared(wildcards: Wildcards) -> str:
    """The module that compares two runs, or two captures."""
    captures = wildcards.run_a.startswith("results/captures/")
    return f"workflow_src.compare.compare{'_captures' if captures else ''}"


def compared_templates(wildcards: Wildcards) -> list[str]:
    """The templates of a comparison."""
    return chapter_templates(compared(wildcards).rpartition(".")[2])
