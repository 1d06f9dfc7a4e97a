"""Paths that several rules share: a run's folder, the templates, the folder of a rule's files."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from workflow_src.common.asked import asked_of
from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan.suites import Plan

TEMPLATES = Path("report_templates")

ROOT_FILES = ("report.md", "report.html")
"""The report's own files, the only ones that all runs share."""

PAGE = [f"{TEMPLATES}/page.{kind}" for kind in ("html.j2", "css", "js")]
"""The templates of every HTML page."""


NEWER = Path(".snakemake", "made_for_another_run")


def another_run(*, newer: bool) -> str:
    """An empty folder as an input; `newer`: newer than any file that is there now.

    A folder, because Snakemake takes no heed of files whose checksum is what it was.
    """
    with suppress(OSError):
        NEWER.mkdir(parents=True, exist_ok=True)
        if newer:
            os.utime(NEWER)
    return str(NEWER)


def made_for_another(files: Iterable[str], asked: str, ancient: Callable[[str], str]) -> str:
    """An input that has files made again if one of them was made for anything but `asked`.

    It is newer than these files then; else it is `ancient`, Snakemake's flag for inputs whose
    times don't matter.
    """
    made = filter(Path.exists, map(Path, files))
    other = any(asked_of(file) != asked for file in made)
    return another_run(newer=True) if other else ancient(another_run(newer=False))


def results_of(plan: Plan) -> str:
    """The folder of a run's results."""
    return f"results/{plan.tag}"


def input_folder(wildcards: Wildcards, input: Sequence[str]) -> str:
    """The folder of a rule's first input, as a param."""
    return str(Path(input[0]).parent)


def output_folder(wildcards: Wildcards, output: Sequence[str]) -> str:
    """The folder of a rule's outputs, as a param."""
    return str(Path(output[0]).parent)
