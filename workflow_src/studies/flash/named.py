"""The implementations in words."""

from workflow_src.common.case import names_code, short_name
from workflow_src.studies.attention.passes import NAMES
from workflow_src.studies.lines import Line

PHASES = ("forward", "backward", "forward_backward")
"""The phases in the order in which they are shown."""


def name(line: Line) -> str:
    """A line's implementation in words; file.function of one's own."""
    found = line.text("implementation")
    return short_name(found) if names_code(found) else NAMES.get(found, found)
