"""Paths that several rules share: a run's folder, the templates, the folder of a rule's files."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan.suites import Plan

TEMPLATES = Path("report_templates")

ROOT_FILES = ("report.md", "report.html")
"""The report's own files, the only ones that all runs share."""

PAGE = [f"{TEMPLATES}/report.{kind}" for kind in ("html.j2", "css", "js")]
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


def results_of(plan: Plan) -> str:
    """The folder of a run's results."""
    return f"results/{plan.tag}"


def input_folder(wildcards: Wildcards, input: Sequence[str]) -> str:
    """The folder of a rule's first input, as a param."""
    return str(Path(input[0]).parent)


def output_folder(wildcards: Wildcards, output: Sequence[str]) -> str:
    """The folder of a rule's outputs, as a param."""
    return str(Path(output[0]).parent)
