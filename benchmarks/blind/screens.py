"""The first screen of each capture, as its report begins, under the capture's name alone."""

import re
import tempfile
from pathlib import Path

from workflow_src.capture_report.capture import Capture
from workflow_src.capture_report.report import chapter
from workflow_src.paper.run import Run
from workflow_src.tables import capture_tables

TEMPLATES = Path(__file__).parents[2] / "report_templates"

DOES = r"What takes the device's time|By what the work does"
"""Begins the first table of what a step does, with steps and without."""


def first_screen(capture: Path, name: str, *options: str) -> str:
    """The headline and the tables of findings and of a step's time, as Markdown.

    options: as of workflow_src.tables.capture_tables, such as --plain-step-ms.
    """
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / name
        asked = ["--capture", str(capture), *options, "--note-problem", "--output", str(tables)]
        capture_tables.main(asked)
        recorded = Capture(Run.of_capture(tables), name)
        texts = chapter(recorded, tables, tables, TEMPLATES, "its log").markdown
    # What is said, found and left of a step; then follow tables of what it does.
    parts = [texts["section"], re.split(DOES, texts["tables"])[0]]
    return "\n\n".join([f"## {name}", f"**{texts['headline']}**", *parts]).strip() + "\n"
