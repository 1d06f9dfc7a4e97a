"""Paths that several rules share: a run's folder, the templates, the folder of a rule's files."""

from collections.abc import Sequence
from pathlib import Path

from workflow_src.dag.wildcards import Wildcards
from workflow_src.plan.suites import Plan

TEMPLATES = Path("report_templates")

PAGE = [f"{TEMPLATES}/report.{kind}" for kind in ("html.j2", "css", "js")]
"""The templates of every HTML page."""


def results_of(plan: Plan) -> str:
    """The folder of a run's results."""
    return f"results/{plan.tag}"


def input_folder(wildcards: Wildcards, input: Sequence[str]) -> str:
    """The folder of a rule's first input, as a param."""
    return str(Path(input[0]).parent)


def output_folder(wildcards: Wildcards, output: Sequence[str]) -> str:
    """The folder of a rule's outputs, as a param."""
    return str(Path(output[0]).parent)
