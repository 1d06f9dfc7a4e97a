"""The implementations in words."""

from workflow_src.common.case import names_code, short_name
from workflow_src.studies.attention.passes import NAMES
from workflow_src.studies.lines import Line

PHASES = ("forward", "backward", "forward_backward")
"""The phases in the order in which they are shown."""

ONCE = "\N{DEGREE SIGN}"
"""Marks what is of a single call."""


ELSEWHERE = "\N{DAGGER}"
"""Marks what was measured on another host than most of a table."""


def name(line: Line) -> str:
    """A line's implementation in words; file.name of one's own."""
    found = line.text("implementation")
    return short_name(found) if names_code(found) else NAMES.get(found, found)


def once(line: Line) -> bool:
    """Whether a line's time is of a single call."""
    return line.amount("samples") == 1


def is_own(line: Line) -> bool:
    """Whether it is of one's own."""
    return names_code(line.text("implementation"))


def is_wrong(line: Line) -> bool:
    """Whether a check found one of one's own to be wrong."""
    return line.text("status") == "failed" and is_own(line)
