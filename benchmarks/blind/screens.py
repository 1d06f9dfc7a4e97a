"""The first screen of each capture, as its report begins, under the capture's name alone."""

import tempfile
from pathlib import Path

from workflow_src.capture_report.report import section
from workflow_src.capture_report.result import read_tables
from workflow_src.tables import capture_tables

TEMPLATES = Path(__file__).parents[2] / "report_templates"

LAST = "How a step divides", "Ranges that repeat"
"""Begin the titles of the first screen's last table, with steps and without."""


def first_screen(capture: Path, name: str, *options: str) -> str:
    """The headline and the tables of findings and of a step's time, as Markdown.

    options: as of workflow_src.tables.capture_tables, such as --plain-step-ms.
    """
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / name
        asked = ["--capture", str(capture), *options, "--note-problem", "--output", str(tables)]
        capture_tables.main(asked)
        text = section(tables, tables).texts(read_tables(tables), TEMPLATES).markdown
    return beginning(text)


def beginning(report: str) -> str:
    """A section to the end of the first screen's last table, or of its first paragraph."""
    parts = report.split("\n\n")
    last = next((n + 1 for n, part in enumerate(parts) if part.startswith(LAST)), 1)
    return "\n\n".join(parts[: last + 1]).strip() + "\n"
